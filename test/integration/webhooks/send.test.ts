import { afterEach, describe, expect, test } from 'vitest';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { sendEvent, type SendOptions } from '../../../services/controller/jobs/webhooks/send.ts';
import { until } from '../../harness/until.ts';
import { innerAddress, publicAddress, startDeaf, startTcp } from '../egress/sites.ts';
import { tlsFixture } from '../egress/tls-fixture.ts';
import { receiverCertificate } from './receiver-certificate.ts';
import { startReceiver, status } from './receiver.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});
const closing = async <T extends { close(): Promise<void> | void }>(started: Promise<T>): Promise<T> => {
  const it = await started;
  cleanUps.push(() => it.close());
  return it;
};
const receiver: typeof startReceiver = (...args) => closing(startReceiver(...args));
const tcp: typeof startTcp = (...args) => closing(startTcp(...args));

const event = { headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' }, body: '{"é":1}' };

/** Resolves every name to the public address, with some exceptions. */
const lookup: Lookup = async (name) => {
  if (name.startsWith('inner.')) return [{ address: innerAddress, family: 4 }];
  if (name.startsWith('nowhere.')) throw new Error('no such name');
  if (name.startsWith('mixed.')) return [publicAddress, innerAddress].map((address) => ({ address, family: 4 }));
  return [{ address: publicAddress, family: 4 }];
};

const policyFor = (allow: readonly string[] = [`${publicAddress}/32`]) => createEgressPolicy({ allow, lookup });

const send = (address: string, options: Partial<SendOptions> = {}) =>
  sendEvent(address, event, { policy: policyFor(), ...options });

/** A failure without a response. */
const failure = (reason: string | RegExp) => ({
  delivered: false,
  gone: false,
  reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
});

describe('over http', () => {
  test('the event arrives unchanged, at the path and query of the address', async () => {
    const { port, received } = await receiver(publicAddress);
    const result = await send(`http://Hooks.Receiver.example:${port}/a%20b/c?d=e&f#g`);
    expect(result).toEqual({ delivered: true, status: 204 });
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({ method: 'POST', url: '/a%20b/c?d=e&f', body: event.body });
    expect(received[0]?.headers).toEqual({
      ...event.headers,
      host: `hooks.receiver.example:${port}`,
      'content-length': '8',
      connection: 'close',
    });
  });

  test('each attempt has its own connection, which ends with it', async () => {
    const site = await receiver(publicAddress, (response) => void response.end('thanks'));
    for (let count = 1; count <= 2; count++) {
      expect(await send(`http://hooks.example:${site.port}/`)).toMatchObject({ delivered: true });
      expect(site.connections()).toBe(count);
      await until('the connection to end', () => site.open() === 0);
    }
  });

  test('the next address is tried if the first one refuses the connection', async () => {
    const { port, received } = await receiver(publicAddress);
    const policy = createEgressPolicy({
      allow: ['127.0.0.2/31'],
      lookup: async () => ['127.0.0.3', publicAddress].map((address) => ({ address, family: 4 })),
    });
    expect(await send(`http://hooks.example:${port}/`, { policy })).toMatchObject({ delivered: true });
    expect(received).toHaveLength(1);
  });

  test.each([200, 201, 202, 204, 299])('status %i is a success', async (code) => {
    const { port } = await receiver(publicAddress, status(code));
    expect(await send(`http://hooks.example:${port}/`)).toEqual({ delivered: true, status: code });
  });

  test.each([400, 401, 404, 429, 500, 503])('status %i is a failure', async (code) => {
    const { port } = await receiver(publicAddress, status(code));
    const result = { delivered: false, status: code, reason: `status ${code}`, gone: false };
    expect(await send(`http://hooks.example:${port}/`)).toEqual(result);
  });

  test('status 410 ends the delivery', async () => {
    const { port } = await receiver(publicAddress, status(410));
    const result = { delivered: false, status: 410, reason: 'status 410', gone: true };
    expect(await send(`http://hooks.example:${port}/`)).toEqual(result);
  });

  test.each([301, 302, 303, 307, 308])('a redirect (%i) is not followed, and fails with this reason', async (code) => {
    const target = await receiver(publicAddress);
    const location = `http://hooks.example:${target.port}/`;
    const { port, received } = await receiver(publicAddress, status(code, { location }));
    expect(await send(`http://hooks.example:${port}/`)).toMatchObject({
      delivered: false,
      status: code,
      reason: `status ${code}: redirects are not followed`,
    });
    expect(received).toHaveLength(1);
    expect(target.connections()).toBe(0);
  });
});

describe('a slow receiver', () => {
  const timeoutMs = 400;

  test('that never responds times out', async () => {
    const site = await receiver(publicAddress, () => undefined);
    const started = performance.now();
    const result = await send(`http://hooks.example:${site.port}/`, { timeoutMs });
    expect(result).toMatchObject(failure('no answer within 0.4 s'));
    expect(performance.now() - started).toBeGreaterThan(timeoutMs - 5);
    // Shorter than the default timeout.
    expect(performance.now() - started).toBeLessThan(8000);
    await until('the connection to be cut', () => site.open() === 0);
  });

  test('that sends its headers slowly times out in total, not per byte', async () => {
    const { port } = await tcp(publicAddress, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('x: y\r\n'), 50);
      socket.once('close', () => clearInterval(timer));
    });
    expect(await send(`http://hooks.example:${port}/`, { timeoutMs })).toMatchObject(failure(/^no answer within/));
  });

  test('that does not accept the connection times out', async () => {
    const deaf = await closing(startDeaf(publicAddress));
    const result = await send(`http://hooks.example:${deaf.port}/`, { timeoutMs });
    expect(result).toMatchObject(failure('no answer within 0.4 s'));
  });

  test('whose name servers do not respond times out', async () => {
    const policy = createEgressPolicy({ allow: [], lookup: () => new Promise(() => undefined) });
    expect(await send('http://hooks.example/', { policy, timeoutMs })).toMatchObject(failure(/^no answer within/));
  });

  test('whose TLS handshake never ends times out', async () => {
    const { port } = await tcp(publicAddress, (socket) => void socket.resume());
    expect(await send(`https://hooks.example:${port}/`, { timeoutMs })).toMatchObject(failure(/^no answer within/));
  });

  test('that sends its body slowly has succeeded', async () => {
    let cut = false;
    const { port } = await receiver(publicAddress, (response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 20);
      response.once('close', () => {
        cut = true;
        clearInterval(timer);
      });
    });
    const started = performance.now();
    expect(await send(`http://hooks.example:${port}/`)).toEqual({ delivered: true, status: 200 });
    expect(performance.now() - started).toBeLessThan(8000);
    await until('the connection to be cut', () => cut);
  });

  test('that sends a huge body has succeeded, and its connection is cut', async () => {
    let sent = 0;
    let cut = false;
    const { port } = await receiver(publicAddress, (response) => {
      const chunk = Buffer.alloc(64 * 1024);
      const pour = () => {
        while (!cut && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', pour).once('close', () => (cut = true));
      pour();
    });
    const started = performance.now();
    expect(await send(`http://hooks.example:${port}/`)).toEqual({ delivered: true, status: 200 });
    expect(performance.now() - started).toBeLessThan(8000);
    await until('the connection to be cut', () => cut);
    // Only the size of the system's buffers, not an endless stream.
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });
});

describe('an unusual receiver that', () => {
  test('refuses the connection is a failure', async () => {
    const gone = await startReceiver(publicAddress);
    await gone.close();
    expect(await send(`http://hooks.example:${gone.port}/`)).toMatchObject(failure('connection refused'));
  });

  test('has a name without an address is a failure', async () => {
    expect(await send('http://nowhere.example/')).toMatchObject(failure('the name does not resolve'));
  });

  test('closes the connection without a response is a failure', async () => {
    const { port } = await tcp(publicAddress, (socket) => void socket.once('data', () => socket.destroy()));
    const result = await send(`http://hooks.example:${port}/`);
    expect(result).toMatchObject(failure('the connection was closed without an answer'));
  });

  test('does not use HTTP is a failure', async () => {
    const { port } = await tcp(publicAddress, (socket) => void socket.end('220 mail.example ESMTP\r\n'));
    const result = await send(`http://hooks.example:${port}/`);
    expect(result).toMatchObject(failure('the answer is not valid HTTP'));
  });

  test('tries to switch the protocol is a failure', async () => {
    const { port } = await tcp(
      publicAddress,
      (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    const result = await send(`http://hooks.example:${port}/`);
    expect(result).toMatchObject(failure('the connection was closed without an answer'));
  });

  test('sends early hints and then a success is a success', async () => {
    const { port } = await tcp(publicAddress, (socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    expect(await send(`http://hooks.example:${port}/`)).toEqual({ delivered: true, status: 200 });
  });
});

describe('over https', () => {
  const { cert: ca } = receiverCertificate;

  test('a certificate with the name of the receiver is accepted', async () => {
    const { port, received } = await receiver(publicAddress, status(200), receiverCertificate);
    expect(await send(`https://hooks.receiver.example:${port}/x`, { ca })).toEqual({ delivered: true, status: 200 });
    expect(received[0]).toMatchObject({ url: '/x', body: event.body });
  });

  test('a certificate with the address of the receiver is accepted', async () => {
    const { port } = await receiver(publicAddress, status(200), tlsFixture);
    const address = `https://${publicAddress}:${port}/`;
    expect(await send(address, { ca: tlsFixture.cert })).toEqual({ delivered: true, status: 200 });
  });

  test('a certificate for another name is refused', async () => {
    const { port, received } = await receiver(publicAddress, status(200), receiverCertificate);
    const result = await send(`https://other.receiver.example:${port}/`, { ca });
    expect(result).toMatchObject(failure('the certificate is refused: it is for another host name'));
    const literal = await send(`https://${publicAddress}:${port}/`, { ca });
    expect(literal).toMatchObject(failure('the certificate is refused: it is for another host name'));
    expect(received).toEqual([]);
  });

  test('a self-signed certificate is refused, even if the environment allows it', async () => {
    const { port, received } = await receiver(publicAddress, status(200), receiverCertificate);
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const result = await send(`https://hooks.receiver.example:${port}/`);
      expect(result).toMatchObject(failure('the certificate is refused: it is self-signed'));
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
    expect(received).toEqual([]);
  });

  test('a server without TLS fails', async () => {
    const { port, received } = await receiver(publicAddress);
    const result = await send(`https://hooks.receiver.example:${port}/`);
    expect(result).toMatchObject(failure('the TLS handshake failed'));
    expect(received).toEqual([]);
  });

  test('a server that disconnects during the handshake fails', async () => {
    const { port } = await tcp(publicAddress, (socket) => void socket.once('data', () => socket.destroy()));
    const result = await send(`https://hooks.receiver.example:${port}/`);
    expect(result).toMatchObject(failure('the TLS handshake failed'));
  });

  test('a redirect to http is not followed', async () => {
    const target = await receiver(publicAddress);
    const location = `http://hooks.example:${target.port}/`;
    const { port } = await receiver(publicAddress, status(308, { location }), receiverCertificate);
    const result = await send(`https://hooks.receiver.example:${port}/`, { ca });
    expect(result).toMatchObject({ delivered: false, reason: 'status 308: redirects are not followed' });
    expect(target.connections()).toBe(0);
  });
});

describe('the egress policy', () => {
  const blocked = failure('refused by the egress policy');

  test('refuses ports that are not web ports', async () => {
    expect(await send('http://hooks.example:25/')).toMatchObject(blocked);
    expect(await send('https://hooks.example:4222/')).toMatchObject(blocked);
  });

  test('refuses a name with an internal address, even if others are public', async () => {
    const inner = await receiver(innerAddress);
    for (const name of ['inner.example', 'mixed.example']) {
      // The result does not contain the address; only the operator's log contains it.
      expect(await send(`http://${name}:${inner.port}/`), name).toMatchObject(blocked);
    }
    expect(inner.connections()).toBe(0);
  });

  test('resolves a name once, so that an answer that changes has no effect', async () => {
    const inner = await receiver(innerAddress);
    const outer = await receiver(publicAddress);
    let asked = 0;
    const policy = createEgressPolicy({
      allow: [`${publicAddress}/32`],
      lookup: async () => [{ address: asked++ === 0 ? publicAddress : innerAddress, family: 4 }],
    });
    await send(`http://hooks.example:${outer.port}/`, { policy });
    expect([asked, outer.received.length, inner.connections()]).toEqual([1, 1, 0]);
    // The next attempt resolves and checks the name again.
    expect(await send(`http://hooks.example:${inner.port}/`, { policy })).toMatchObject(blocked);
    expect(inner.connections()).toBe(0);
  });
});

test('an attempt that ends with its process does not count as a failure', async () => {
  const stop = new AbortController();
  const site = await receiver(publicAddress, () => undefined);
  const sending = send(`http://hooks.example:${site.port}/`, { signal: stop.signal });
  await until('the event to be there', () => site.received.length === 1);
  stop.abort(new Error('stopping'));
  await expect(sending).rejects.toThrow('stopping');
  await until('the connection to be cut', () => site.open() === 0);
});
