import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../harness/free-port.ts';
import { until } from '../../harness/until.ts';
import { openTunnel, plain, read } from './proxy-client.ts';
import { publicAddress, startDeaf } from './sites.ts';
import { networkError, several, useSessions } from './use-sessions.ts';

const { site, tcp, closing, openSession } = useSessions();

describe('timeouts', () => {
  const limits = { responseTimeoutMs: 200 };
  const hanging = () => site(publicAddress, (request, response) => void (request.url === '/ok' && response.end('ok')));

  it('end a plain request without a response', async () => {
    const { port } = await hanging();
    const session = await openSession({ limits });
    const started = performance.now();
    await expect(plain(session.server, `http://a.example:${port}/hang`)).rejects.toThrow(networkError);
    expect(performance.now() - started).toBeGreaterThanOrEqual(195);
    expect(session.stats()).toMatchObject({ stalledHosts: ['a.example'], stalledRequests: 1, failedRequests: 0 });
    expect(session.failureOf(`http://a.example:${port}/`)).toBe('response-timeout');
    // This is also true for a reused connection, and the proxy does not send the request again.
    await plain(session.server, `http://a.example:${port}/ok`);
    await expect(plain(session.server, `http://a.example:${port}/hang`)).rejects.toThrow(networkError);
    expect(session.stats().stalledRequests).toBe(2);
  });

  it('do not affect a response that has begun, or an upload that makes progress', async () => {
    const { port } = await site(publicAddress, (request, response) => {
      if (request.method === 'POST') request.resume().on('end', () => response.end('stored'));
      else {
        response.write('begun ');
        setTimeout(() => response.end('and ended'), 700);
      }
    });
    const session = await openSession({ limits });
    const slow = plain(session.server, `http://a.example:${port}/`);
    const upload = http.request(session.server, { method: 'POST', path: `http://a.example:${port}/up` });
    const stored = once(upload, 'response');
    for (let part = 0; part < 7; part += 1) {
      upload.write('x'.repeat(1000));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    upload.end();
    const [response] = (await stored) as [http.IncomingMessage];
    expect(response.statusCode).toBe(200);
    response.resume();
    expect((await slow).body).toBe('begun and ended');
    expect(session.stats().stalledRequests).toBe(0);
  });

  it('are longer for a server that is expected to be slow', async () => {
    const { port } = await site(publicAddress, (_, response) => void setTimeout(() => response.end('late'), 600));
    const session = await openSession({ limits });
    const release = session.expectSlow(`http://a.example:${port}/`, 5000);
    expect((await plain(session.server, `http://a.example:${port}/`)).body).toBe('late');
    await expect(plain(session.server, `http://b.example:${port}/`)).rejects.toThrow(networkError);
    release();
    await expect(plain(session.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    const started = performance.now();
    session.expectSlow(`http://a.example:${port}/`, 300);
    await expect(plain(session.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    expect(performance.now() - started).toBeGreaterThanOrEqual(295);
  });

  it('exclude time in which the process was suspended', async () => {
    const asked = Promise.withResolvers<void>();
    const { port } = await site(publicAddress, (_, response) => {
      asked.resolve();
      setTimeout(() => response.end('there'), 50);
    });
    const session = await openSession({ limits });
    const answer = plain(session.server, `http://a.example:${port}/`);
    await asked.promise;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    expect((await answer).body).toBe('there');
  });

  it('cut a tunnel whose server never responds, but not one that is silent later', async () => {
    const silent = await tcp(publicAddress, () => undefined);
    const brief = await tcp(publicAddress, (socket) => void socket.once('data', () => socket.write('hello')));
    const session = await openSession({ limits });
    const deaf = await openTunnel(session.server, `deaf.example:${silent.port}`);
    const idle = await openTunnel(session.server, `idle.example:${silent.port}`);
    const quiet = await openTunnel(session.server, `quiet.example:${brief.port}`);
    quiet.socket.write('hello?');
    expect(await read(quiet.socket)).toBe('hello');
    quiet.socket.write('more');
    deaf.socket.write('anybody?');
    expect(await read(deaf.socket)).toBe('');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(quiet.socket.destroyed).toBe(false);
    expect(idle.socket.destroyed).toBe(false);
    expect(session.stats()).toMatchObject({ stalledHosts: ['deaf.example'], stalledRequests: 1, openConnections: 2 });

    // The caller determines how long a tunnel must be silent before it is cut.
    expect(session.cutSilent(`https://quiet.example:${brief.port}/x`, 60_000)).toBe(0);
    expect(session.cutSilent(`https://quiet.example:${brief.port}/x`, 300)).toBe(1);
    expect(await read(quiet.socket)).toBe('');
    expect(idle.socket.destroyed).toBe(false);
  });

  it('end an attempt to connect', async () => {
    const { port } = await closing(startDeaf(publicAddress));
    const session = await openSession({ limits: { connectTimeoutMs: 200 } });
    const started = performance.now();
    expect(await openTunnel(session.server, `a.example:${port}`)).toMatchObject({
      status: 504,
      headers: { 'x-webcapture-egress': 'connect-timeout' },
    });
    await expect(plain(session.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    // The default is 10 s for each.
    expect(performance.now() - started).toBeLessThan(8000);
    expect(session.failureOf(`http://a.example:${port}/`)).toBe('connect-timeout');
  });

  it('divide the connect time among the addresses', async () => {
    const port = await freePort();
    await closing(startDeaf('127.0.0.3', port));
    await site(publicAddress, (_, response) => response.end('second'), undefined, port);
    const session = await openSession({ allow: ['127.0.0.2/31'], lookup: several, limits: { connectTimeoutMs: 1000 } });
    expect((await plain(session.server, `http://a.example:${port}/`)).body).toBe('second');
  });
});

describe('limits', () => {
  it('apply to the number of open connections', async () => {
    const { port } = await tcp(publicAddress, () => undefined);
    const session = await openSession({ limits: { maxConnections: 2 } });
    const first = await openTunnel(session.server, `a.example:${port}`);
    await openTunnel(session.server, `b.example:${port}`);
    expect(await openTunnel(session.server, `c.example:${port}`)).toMatchObject({
      status: 503,
      headers: { 'x-webcapture-egress': 'limit' },
    });
    expect(session.stats()).toMatchObject({ openConnections: 2, limitReached: 'connections' });
    first.socket.destroy();
    await until('a connection to close', () => session.stats().openConnections === 1);
    expect((await openTunnel(session.server, `c.example:${port}`)).status).toBe(200);
  });

  it('apply to bytes: the proxy cuts all connections and opens no new ones', async () => {
    const flood = Buffer.alloc(64 * 1024, 1);
    const { port } = await tcp(publicAddress, (socket) => {
      const pour = () => {
        while (socket.write(flood));
      };
      socket.on('drain', pour);
      socket.once('data', pour);
    });
    const { port: webPort } = await site(publicAddress, (_, response) => response.end('x'.repeat(1000)));
    const session = await openSession({ limits: { maxDownloadBytes: 1024 * 1024 } });
    expect((await plain(session.server, `http://a.example:${webPort}/`)).status).toBe(200);
    const idle = await openTunnel(session.server, `b.example:${port}`);
    const { socket } = await openTunnel(session.server, `a.example:${port}`);
    socket.resume().write('go');
    await once(socket, 'close');
    expect(await read(idle.socket)).toBe('');
    expect(session.stats().limitReached).toBe('download');
    expect(session.stats().bytesReceived).toBeLessThan(2 * 1024 * 1024);
    await expect(plain(session.server, `http://a.example:${webPort}/`)).rejects.toThrow(networkError);
    expect((await openTunnel(session.server, `a.example:${port}`)).status).toBe(503);
  });

  it('apply to the body of a plain response', async () => {
    const { port } = await site(publicAddress, (_, response) => response.end(Buffer.alloc(3 * 1024 * 1024)));
    const session = await openSession({ limits: { maxDownloadBytes: 1024 * 1024 } });
    await expect(plain(session.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    expect(session.stats().limitReached).toBe('download');
  });
});

describe('excess requests', () => {
  it('wait without delaying other sessions', async () => {
    const { port } = await site(publicAddress, (_, response) => response.end('ok'));
    const limits = { requestBurst: 10, requestsPerSecond: 20 };
    const [hasty, patient] = [await openSession({ limits }), await openSession({ limits })];
    const started = performance.now();
    const flood = Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        index % 2 === 0
          ? plain(hasty.server, `http://a.example:${port}/`)
          : openTunnel(hasty.server, `a.example:${port}`),
      ),
    );
    let isOver = false;
    void flood.then(() => (isOver = true));
    await plain(patient.server, `http://a.example:${port}/`);
    expect(isOver).toBe(false);
    for (const { status } of await flood) expect(status).toBe(200);
    // 20 requests wait for 50 ms each.
    expect(performance.now() - started).toBeGreaterThanOrEqual(990);
  });

  it('end with their session', async () => {
    const session = await openSession({ limits: { requestBurst: 1, requestsPerSecond: 0.001 } });
    await plain(session.server, 'http://a.example:25/');
    const request = http.get(session.server, { path: 'http://a.example:25/' });
    const [socket] = (await once(request, 'socket')) as [Socket];
    if (socket.connecting) await once(socket, 'connect');
    const answer = once(request, 'response').catch(String);
    await session.close();
    expect(await answer).toMatch(networkError);
  });
});

describe('by default', () => {
  const mebibyte = 1_048_576;

  it('a capture may upload 64 MiB, and not a byte more', async () => {
    let received = 0;
    const { port } = await tcp(
      publicAddress,
      (socket) => void socket.on('data', (chunk) => (received += chunk.length)),
    );
    const session = await openSession();
    const { socket } = await openTunnel(session.server, `a.example:${port}`);
    for (let sent = 0; sent < 64; sent++) if (!socket.write(Buffer.alloc(mebibyte))) await once(socket, 'drain');
    await until('64 MiB to arrive', () => received === 64 * mebibyte);
    expect(session.stats().limitReached).toBeUndefined();
    expect(socket.destroyed).toBe(false);
    const closed = once(socket, 'close');
    socket.write('x');
    await closed;
    expect(session.stats().limitReached).toBe('upload');
    expect(received).toBeLessThanOrEqual(64 * mebibyte + 1);
  });

  it('a capture may have 256 connections, and the next one is refused', async () => {
    const { port } = await tcp(publicAddress, () => undefined);
    const session = await openSession();
    const open = () => openTunnel(session.server, `a.example:${port}`);
    const tunnels = await Promise.all(Array.from({ length: 256 }, open));
    expect(tunnels.filter(({ status }) => status !== 200)).toEqual([]);
    expect(session.stats()).toMatchObject({ openConnections: 256, limitReached: undefined });
    expect((await open()).status).toBe(503);
    expect(session.stats()).toMatchObject({ openConnections: 256, limitReached: 'connections' });
  });

  it('the list of variables has these values', async () => {
    const page = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
    expect(page).toContain('at most 64 MiB of uploads, and at most 256 connections');
  });
});
