import { innerAddress, publicAddress } from '../sites.ts';

const loopback6 = '0:0:0:0:0:0:0:1';
const public4 = [publicAddress];

/** Names that resolve to internal addresses, immediately or later, as a name server of an attacker would answer. */
export const rebindingNames = {
  'inner.example': { A: [innerAddress] },
  'two.example': { A: [publicAddress, innerAddress] },
  'two-turned.example': { A: [innerAddress, publicAddress] },
  'six.example': { AAAA: [loopback6] },
  'four-and-six.example': { A: public4, AAAA: [loopback6] },
  'mapped.example': { AAAA: ['0:0:0:0:0:ffff:7f00:1'] },
  'translated.example': { AAAA: ['64:ff9b:0:0:0:0:7f00:1'] },
  'local-translated.example': { AAAA: ['64:ff9b:1:0:0:0:7f00:1'] },
  'six-to-four.example': { AAAA: ['2002:7f00:1:0:0:0:0:1'] },
  'zero.example': { A: ['0.0.0.0'] },
  'zero-six.example': { AAAA: ['0:0:0:0:0:0:0:0'] },
  'other-loopback.example': { A: ['127.0.0.3'] },
  'alias.example': { CNAME: 'inner.example', A: [innerAddress] },
  'alias-of-localhost.example': { CNAME: 'localhost', A: [innerAddress] },
  'alias-six.example': { CNAME: 'six.example', AAAA: [loopback6] },
  metadata: { A: ['169.254.169.254'] },
  'metadata.google.internal': { A: ['169.254.169.254'] },
  'kubernetes.default.svc': { A: ['10.96.0.1'] },
  'host.docker.internal': { A: ['172.17.0.1'] },
} as const;

/** Names that resolve to a public address at first, and to an internal one afterwards. */
export const changingNames = {
  'flip.example': { A: public4, later: { A: [innerAddress] } },
  'flip-six.example': { A: public4, later: { AAAA: [loopback6] } },
  'flip-both.example': { A: public4, later: { A: [publicAddress, innerAddress] } },
  'flip-alias.example': { A: public4, later: { CNAME: 'localhost', A: [innerAddress] } },
} as const;

/**
 * A page that requests each changing name at the open site and then at the canary: after a preflight, in a frame, and
 * over a WebSocket.
 */
export function changingPage(port: number, sitePort: number): string {
  return `<!doctype html><title>changing</title><body><script>
    for (const name of ${JSON.stringify(Object.keys(changingNames))}) (async () => {
      await fetch('http://' + name + ':${sitePort}/', { mode: 'no-cors' }).catch(() => 0);
      const to = 'http://' + name + ':${port}/changed/x';
      await fetch(to, { method: 'PUT', headers: { x: 'y' } }).catch(() => 0);
      await fetch(to, { mode: 'no-cors' }).catch(() => 0);
      new WebSocket('ws://' + name + ':${port}/changed/x');
      const frame = document.createElement('iframe');
      frame.src = to;
      document.body.append(frame);
    })();
    </script>`;
}
