import type net from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { timeOf } from '../../harness/time-of.ts';
import { freePort } from '../../harness/free-port.ts';
import { until } from '../../harness/until.ts';
import { openTunnel, plain, read } from '../../integration/egress/proxy-client.ts';
import { publicAddress } from '../../integration/egress/sites.ts';
import { lookup, networkError, useSessions } from '../../integration/egress/use-sessions.ts';

const { site, tcp, openProxy, openSession } = useSessions();

describe('a plain HTTP request', () => {
  it('is forwarded unchanged, except for hop-by-hop headers', async () => {
    let seen: { method?: string; url?: string; headers: readonly string[]; body: string } | undefined;
    const { port } = await site(publicAddress, (request, response) => {
      request.setEncoding('utf8');
      let body = '';
      request.on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        seen = { method: request.method ?? '', url: request.url ?? '', headers: request.rawHeaders, body };
        response.sendDate = false;
        response.writeHead(418, 'Short and stout', [
          'Set-Cookie',
          'a=1',
          'set-cookie',
          'b=2',
          'X-Odd',
          'é',
          'Connection',
          'x-hop',
          'X-Hop',
          '1',
        ]);
        response.end('tea');
      });
    });
    const session = await openSession();
    const answer = await plain(session.server, `http://Site.Example:${port}/a%20b/../c|d?e=%zz&f=[g]`, {
      method: 'PUT',
      body: 'leaves',
      headers: {
        Host: 'other.example',
        'X-Mixed-Case': 'yes',
        'Proxy-Connection': 'keep-alive',
        'Proxy-Authorization': 'Basic x',
        Connection: 'x-own',
        'X-Own': '1',
      },
    });

    expect(seen).toMatchObject({ method: 'PUT', url: '/a%20b/../c|d?e=%zz&f=[g]', body: 'leaves' });
    expect(seen?.headers).toEqual(expect.arrayContaining(['Host', `Site.Example:${port}`, 'X-Mixed-Case', 'yes']));
    expect(seen?.headers.join()).not.toMatch(/proxy-|x-own|other\.example|forwarded|via/i);
    expect(answer).toMatchObject({ status: 418, body: 'tea' });
    expect(answer.rawHeaders.slice(0, 6)).toEqual(['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Odd', 'é']);
    expect(answer.rawHeaders.join()).not.toMatch(/x-hop|date/i);
    const { bytesReceived, ...stats } = session.stats();
    expect(stats).toMatchObject({ connections: 1, blockedRequests: 0 });
    // The request has a body of 3 bytes and a head of about 60.
    expect(bytesReceived).toBeGreaterThan(3 + 30);
    expect(bytesReceived).toBeLessThan(3 + 120);
  });

  it('reuses a connection, and is sent again if the reused connection turns out to be closed', async () => {
    const served = new WeakSet<net.Socket>();
    const { port, connections } = await site(publicAddress, (request, response) => {
      if (request.url === '/again' && served.has(request.socket)) return request.socket.destroy();
      served.add(request.socket);
      return response.end(request.url);
    });
    const session = await openSession();
    for (const path of ['/one', '/two'])
      expect((await plain(session.server, `http://a.example:${port}${path}`)).body).toBe(path);
    expect(connections()).toBe(1);
    expect((await plain(session.server, `http://a.example:${port}/again`)).body).toBe('/again');
    expect(connections()).toBe(2);
    // A request that is not idempotent is not sent twice.
    await expect(
      plain(session.server, `http://a.example:${port}/again`, { method: 'POST', body: 'x' }),
    ).rejects.toThrow(networkError);
  });

  it('with a truncated response is also aborted for the browser', async () => {
    const { port } = await tcp(publicAddress, (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
        setImmediate(() => socket.destroy());
      });
    });
    const session = await openSession();
    await expect(plain(session.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
  });

  it('is aborted without a response if the host cannot be resolved or reached', async () => {
    const port = await freePort();
    const session = await openSession();
    await expect(plain(session.server, 'http://nowhere.example/')).rejects.toThrow(networkError);
    await expect(plain(session.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    expect(session.failureOf('http://nowhere.example/x')).toBe('unresolved');
    expect(session.failureOf(`http://a.example:${port}/y`)).toBe('unreachable');
    expect(session.failureOf('http://b.example/')).toBeUndefined();
    expect(session.stats()).toMatchObject({ failedRequests: 2, blockedRequests: 0 });
  });

  it.each([
    '/origin-form',
    'https://a.example/',
    'http://',
    'http://user@a.example/',
    'ftp://a.example/',
    'http://a..b/',
  ])('with the invalid target %s returns 400', async (target) => {
    const session = await openSession();
    expect(await plain(session.server, target)).toMatchObject({ status: 400 });
  });
});

describe('a hostile server', () => {
  it.each([
    [
      'an upgrade that the client did not request',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['interim responses without an end', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(1000)],
  ])('is cut off in time: %s', async (_, answer) => {
    const { port } = await tcp(publicAddress, (socket) => socket.once('data', () => socket.write(answer)));
    const session = await openSession();
    const ask = () => expect(plain(session.server, `http://site.example:${port}/`)).rejects.toThrow(networkError);
    // The session itself times out after 10 s.
    expect(await timeOf(ask)).toBeLessThan(8000);
    expect(session.stats()).toMatchObject({ failedRequests: 1, openConnections: 0 });
  });
});

describe('tunnels', () => {
  it('carry bytes in both directions, and stay open when one side ends', async () => {
    const { port } = await tcp(publicAddress, (socket) => {
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('end', () => socket.end(text.toUpperCase()));
    });
    const session = await openSession();
    const { status, socket } = await openTunnel(session.server, `a.example:${port}`);
    expect(status).toBe(200);
    socket.write('hello, ');
    socket.end('world');
    expect(await read(socket)).toBe('HELLO, WORLD');
    expect(session.stats()).toMatchObject({ bytesReceived: 12, connections: 1 });
    await until('the connection to be forgotten', () => session.stats().openConnections === 0);
  });

  it('carry WebSockets', async () => {
    const { port } = await site(
      publicAddress,
      (_, response) => response.end(),
      (server) => server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nframes')),
    );
    const session = await openSession();
    const { socket } = await openTunnel(session.server, `a.example:${port}`);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    expect(await read(socket)).toMatch(/^HTTP\/1.1 101 .*frames$/s);
  });

  it('return the reason when they cannot be opened', async () => {
    const port = await freePort();
    const session = await openSession();
    expect(await openTunnel(session.server, 'nowhere.example:443')).toMatchObject({
      status: 502,
      headers: { 'x-webcapture-egress': 'unresolved' },
    });
    expect(await openTunnel(session.server, `a.example:${port}`)).toMatchObject({
      status: 502,
      headers: { 'x-webcapture-egress': 'unreachable' },
    });
    for (const authority of ['a.example', 'a.example:', ':443', 'a.example:99999', 'a..b:443']) {
      expect(await openTunnel(session.server, authority)).toMatchObject({ status: 400 });
    }
  });
});

describe('closing a proxy session', () => {
  it('destroys its connections and no connection of another session', async () => {
    const { port } = await site(publicAddress, (_, response) => void response.write('begun'));
    let pending = 0;
    const never: Lookup = (name) => {
      if (!name.startsWith('never')) return lookup(name, new AbortController().signal);
      pending += 1;
      return new Promise(() => undefined);
    };
    const proxy = await openProxy({ lookup: never });
    const [session, other] = [await proxy.openSession(), await proxy.openSession()];
    const tunneled = await openTunnel(session.server, `a.example:${port}`);
    const untouched = await openTunnel(other.server, `a.example:${port}`);
    const cut = [
      plain(session.server, `http://a.example:${port}/`),
      plain(session.server, 'http://never.example/'),
      openTunnel(session.server, 'never2.example:443').then(({ status }) => Promise.reject(new Error(`${status}`))),
    ];
    const settled = Promise.allSettled(cut);
    await until('everything to be under way', () => session.stats().openConnections === 2 && pending === 2);

    // Closing does not wait for the requests, because they would never end.
    await session.close();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await read(tunneled.socket)).toBe('');
    await until('the connections to be closed', () => session.stats().openConnections === 0);
    expect(session.stats()).toMatchObject({ blockedRequests: 0, failedRequests: 0, stalledRequests: 0 });
    await expect(plain(session.server, `http://a.example:${port}/`)).rejects.toThrow(/ECONNREFUSED/);
    await session.close();

    expect(untouched.socket.destroyed).toBe(false);
    await proxy.close();
    expect(await read(untouched.socket)).toBe('');
  });
});
