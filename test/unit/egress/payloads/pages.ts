import { notations, trickyUrls } from './addresses.ts';
import { pathOf } from './payload-site.ts';
import { ways } from './ways.ts';

/** A page with many payloads. */
export interface PayloadPage {
  readonly body: string;
  readonly payloads: number;
}

const frame = (src: string) => `<iframe src="${src.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`;

/** Each way out to each host, in a frame of its own. The path tells the canary which way it was. */
export function everyWay(origins: readonly string[], base = ''): PayloadPage {
  const documents = origins.flatMap((origin) => Object.entries(ways).map(([name, way]) => way(`${origin}/${name}/x`)));
  const frames = documents.map((document) =>
    frame(base + pathOf(typeof document === 'string' ? { body: document } : document)),
  );
  return { body: `<!doctype html><title>ways</title>${frames.join('')}`, payloads: documents.length };
}

/** Each notation of each host, over http, https and WebSocket; what is no address to the browser fails there. */
export function everyNotation(port: number): PayloadPage {
  const urls = [
    ...notations.flatMap((host) => ['http', 'https'].map((scheme) => `${scheme}://${host}:${port}/n/x`)),
    ...trickyUrls(port),
  ];
  const sockets = notations.map((host) => `ws://${host}:${port}/n/x`);
  const body = `<!doctype html><title>notations</title><script>
    const quietly = (start) => { try { Promise.resolve(start()).catch(() => 0) } catch {} };
    for (const url of ${JSON.stringify(urls).replaceAll('<', '\\u003c')}) {
      quietly(() => fetch(url, { mode: 'no-cors' }));
      new Image().src = url;
    }
    for (const url of ${JSON.stringify(sockets)}) quietly(() => new WebSocket(url));
    </script><body>x`;
  return { body, payloads: 2 * urls.length + sockets.length };
}

/** The ways that need no site around them, for supplied html: each within a document of its own all the same. */
export function everyWayInHtml(origin: string): PayloadPage {
  const documents = Object.entries(ways).flatMap(([name, way]) => {
    const document = way(`${origin}/${name}/x`);
    return typeof document === 'string' && !document.includes('/serve?') ? [document] : [];
  });
  const frames = documents.map(
    (document) => `<iframe srcdoc="${document.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`,
  );
  return { body: `<!doctype html><title>html</title>${frames.join('')}`, payloads: documents.length };
}
