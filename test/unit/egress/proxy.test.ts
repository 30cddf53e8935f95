import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { Lookup, ResolvedAddress } from '@webcapture/shared/egress/lookup.ts';
import type { EgressLane } from '../../../services/renderer/egress/lane.ts';
import type { EgressLimits } from '../../../services/renderer/egress/limits.ts';
import { startEgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { timeOf } from '../../harness/fastest.ts';
import { freePort } from '../../harness/free-port.ts';
import { until } from '../../harness/until.ts';
import { openTunnel, plain, read } from './proxy-client.ts';
import { notationsOf, refusedAddresses, refusedHosts } from './refused-hosts.ts';
import { innerAddress, publicAddress, startDeaf, startSite, startTcp } from './sites.ts';

/** What a client of the proxy sees when a connection ends without a whole answer. */
const networkError = /socket hang up|ECONNRESET|aborted/;

const cleanUps: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const closing = async <T extends { close(): Promise<void> }>(started: Promise<T>): Promise<T> => {
  const it = await started;
  cleanUps.push(() => it.close());
  return it;
};

const site: typeof startSite = (...args) => closing(startSite(...args));
const tcp: typeof startTcp = (...args) => closing(startTcp(...args));

/** Every name is the public address, but for those that say otherwise. */
const lookup: Lookup = async (name) => {
  if (name.startsWith('inner.')) return [{ address: innerAddress, family: 4 }];
  if (name.startsWith('nowhere.')) throw new Error('no such name');
  return [{ address: publicAddress, family: 4 }];
};

/** The first address is one where nothing answers. */
const several: Lookup = async () => [
  { address: '127.0.0.3', family: 4 },
  { address: publicAddress, family: 4 },
];

async function openLane(options: { limits?: Partial<EgressLimits>; lookup?: Lookup } = {}): Promise<EgressLane> {
  const policy = createEgressPolicy({ allow: [`${publicAddress}/32`], lookup: options.lookup ?? lookup });
  const log = { debug: () => undefined };
  const proxy = await closing(startEgressProxy({ policy, log, limits: options.limits ?? {} }));
  return proxy.openLane();
}

describe('plain http', () => {
  it('passes requests and responses on as they are', async () => {
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
    const lane = await openLane();
    const answer = await plain(lane.server, `http://Site.Example:${port}/a%20b/../c|d?e=%zz&f=[g]`, {
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
    const { bytesReceived, ...stats } = lane.stats();
    expect(stats).toMatchObject({ connections: 1, blockedRequests: 0 });
    // The body, and a head of some sixty.
    expect(bytesReceived).toBeGreaterThan(3 + 30);
    expect(bytesReceived).toBeLessThan(3 + 120);
  });

  it('keeps connections, and sends a request again when a kept one turns out to be closed', async () => {
    const served = new WeakSet<net.Socket>();
    const { port, connections } = await site(publicAddress, (request, response) => {
      if (request.url === '/again' && served.has(request.socket)) return request.socket.destroy();
      served.add(request.socket);
      return response.end(request.url);
    });
    const lane = await openLane();
    for (const path of ['/one', '/two'])
      expect((await plain(lane.server, `http://a.example:${port}${path}`)).body).toBe(path);
    expect(connections()).toBe(1);
    expect((await plain(lane.server, `http://a.example:${port}/again`)).body).toBe('/again');
    expect(connections()).toBe(2);
    // What may have had an effect is not sent twice.
    await expect(plain(lane.server, `http://a.example:${port}/again`, { method: 'POST', body: 'x' })).rejects.toThrow(
      networkError,
    );
  });

  it('lets the browser see a broken response as broken', async () => {
    const { port } = await tcp(publicAddress, (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
        setImmediate(() => socket.destroy());
      });
    });
    const lane = await openLane();
    await expect(plain(lane.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
  });

  it('ends without an answer where the network has none', async () => {
    const gone = { port: await freePort() };
    const lane = await openLane();
    await expect(plain(lane.server, 'http://nowhere.example/')).rejects.toThrow(networkError);
    await expect(plain(lane.server, `http://a.example:${gone.port}/`)).rejects.toThrow(networkError);
    expect(lane.failureOf('http://nowhere.example/x')).toBe('unresolved');
    expect(lane.failureOf(`http://a.example:${gone.port}/y`)).toBe('unreachable');
    expect(lane.failureOf('http://b.example/')).toBeUndefined();
    expect(lane.stats()).toMatchObject({ failedRequests: 2, blockedRequests: 0 });
  });

  it.each([
    '/origin-form',
    'https://a.example/',
    'http://',
    'http://user@a.example/',
    'ftp://a.example/',
    'http://a..b/',
  ])('answers 400 to %s', async (target) => {
    const lane = await openLane();
    expect(await plain(lane.server, target)).toMatchObject({ status: 400 });
  });
});

describe('what a server may try', () => {
  it.each([
    [
      'another protocol, which nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['interim answers without an end', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(1000)],
  ])('ends in time: %s', async (_, answer) => {
    const { port } = await tcp(publicAddress, (socket) => socket.once('data', () => socket.write(answer)));
    const lane = await openLane();
    const ask = () => expect(plain(lane.server, `http://site.example:${port}/`)).rejects.toThrow(networkError);
    // The lane itself would give up after ten seconds.
    expect(await timeOf(ask)).toBeLessThan(8000);
    expect(lane.stats()).toMatchObject({ failedRequests: 1, openConnections: 0 });
  });
});

describe('tunnels', () => {
  it('carry bytes both ways, and outlive the end of one', async () => {
    const { port } = await tcp(publicAddress, (socket) => {
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('end', () => socket.end(text.toUpperCase()));
    });
    const lane = await openLane();
    const { status, socket } = await openTunnel(lane.server, `a.example:${port}`);
    expect(status).toBe(200);
    socket.write('hello, ');
    socket.end('world');
    expect(await read(socket)).toBe('HELLO, WORLD');
    expect(lane.stats()).toMatchObject({ bytesReceived: 12, connections: 1 });
    await until('the connection to be forgotten', () => lane.stats().openConnections === 0);
  });

  it('carry WebSockets', async () => {
    const { port } = await site(
      publicAddress,
      (_, response) => response.end(),
      (server) => server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nframes')),
    );
    const lane = await openLane();
    const { socket } = await openTunnel(lane.server, `a.example:${port}`);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    expect(await read(socket)).toMatch(/^HTTP\/1.1 101 .*frames$/s);
  });

  it('say why they do not stand', async () => {
    const gone = { port: await freePort() };
    const lane = await openLane();
    expect(await openTunnel(lane.server, 'nowhere.example:443')).toMatchObject({
      status: 502,
      headers: { 'x-webcapture-egress': 'unresolved' },
    });
    expect(await openTunnel(lane.server, `a.example:${gone.port}`)).toMatchObject({
      status: 502,
      headers: { 'x-webcapture-egress': 'unreachable' },
    });
    for (const authority of ['a.example', 'a.example:', ':443', 'a.example:99999', 'a..b:443']) {
      expect(await openTunnel(lane.server, authority)).toMatchObject({ status: 400 });
    }
  });
});

describe('the policy', () => {
  it('holds in every notation, and nothing arrives', async () => {
    const canary = await tcp(innerAddress, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nsecret'));
    const { port } = canary;
    const lane = await openLane();
    const agent = new http.Agent({ keepAlive: true });
    cleanUps.push(() => agent.destroy());
    const addresses = ['127.0.0.1', '0.0.0.0', '169.254.169.254', '10.0.0.1'];
    const bare = refusedHosts.filter((host) => /^[\w.[\]:%。-]+$/.test(host));
    const hosts = [
      ...addresses.flatMap(notationsOf),
      ...Object.values(refusedAddresses).flat(),
      ...bare,
      'inner.example',
    ];
    let plainly = 0;
    for (const host of hosts) {
      const bracketed = net.isIPv6(host) ? `[${host}]` : host;
      const authority = encodeURI(`${bracketed}:${port}`)
        .replaceAll('%25', '%')
        .replaceAll(/%5[BD]/g, decodeURI);
      const forwarded = await plain(lane.server, `http://${authority}/`, { agent });
      expect([400, 403]).toContain(forwarded.status);
      const tunnelled = await openTunnel(lane.server, authority);
      expect([400, 403]).toContain(tunnelled.status);
      tunnelled.socket.destroy();
      if (forwarded.status !== 403) continue;
      plainly += 1;
      expect(forwarded.headers['x-webcapture-egress']).toBe('blocked');
      expect(tunnelled.headers['x-webcapture-egress']).toBe('blocked');
    }
    expect(plainly).toBeGreaterThan(150);
    expect(canary.connections()).toBe(0);
    expect(lane.stats().blockedHosts).toEqual(
      expect.arrayContaining(['127.0.0.1', '::1', 'localhost', 'inner.example']),
    );
    expect(lane.stats().blockedRequests).toBeGreaterThanOrEqual(2 * plainly);
    expect(lane.wasBlocked(`http://inner.example:${port}/any`)).toBe(true);
    expect(lane.wasBlocked(`https://0x7f.1:${port}/any`)).toBe(true);
    expect(lane.wasBlocked('http://a.example/')).toBe(false);
    expect(lane.wasBlocked('not a url')).toBe(false);
  });

  it('holds for where a redirect leads', async () => {
    const canary = await tcp(innerAddress, (socket) => socket.end('secret'));
    const { port } = await site(publicAddress, (_, response) => {
      response.writeHead(302, { location: `http://inner.example:${canary.port}/secret` });
      response.end();
    });
    const lane = await openLane();
    const { status, headers } = await plain(lane.server, `http://a.example:${port}/`);
    expect(status).toBe(302);
    expect(await plain(lane.server, headers.location ?? '')).toMatchObject({ status: 403 });
    expect(canary.connections()).toBe(0);
  });

  it('holds against names that change their address', async () => {
    // The canary listens on the very port of the public site: only the address decides.
    const port = await freePort();
    await site(publicAddress, (_, response) => response.end('public'), undefined, port);
    let inner = 0;
    const canary = http.createServer((_, response) => {
      inner += 1;
      response.end('secret');
    });
    canary.listen(port, innerAddress);
    await once(canary, 'listening');
    cleanUps.push(() => void canary.close());

    let asked = 0;
    const rebinding: Lookup = async (): Promise<ResolvedAddress[]> => [
      { address: (asked += 1) === 1 ? publicAddress : innerAddress, family: 4 },
    ];
    const policy = createEgressPolicy({ allow: [`${publicAddress}/32`], lookup: rebinding });
    const proxy = await closing(startEgressProxy({ policy, log: { debug: () => undefined } }));
    const lane = await proxy.openLane();
    const url = `http://rebind.example:${port}/`;
    for (let round = 0; round < 3; round += 1) {
      const headers = { connection: 'close' };
      expect((await plain(lane.server, url, { headers })).body).toBe('public');
      expect((await openTunnel(lane.server, `REBIND.example.:${port}`)).status).toBe(200);
    }
    expect(asked).toBe(1);

    const next = await proxy.openLane();
    expect((await plain(next.server, url)).status).toBe(403);
    expect(await openTunnel(next.server, `rebind.example:${port}`)).toMatchObject({ status: 403 });
    expect(inner).toBe(0);
  });

  it('refuses a name with a public and an inner address', async () => {
    const both: Lookup = async () => [
      { address: publicAddress, family: 4 },
      { address: innerAddress, family: 4 },
    ];
    const { port, connections } = await site(publicAddress, (_, response) => response.end());
    const lane = await openLane({ lookup: both });
    expect((await plain(lane.server, `http://a.example:${port}/`)).status).toBe(403);
    expect(connections()).toBe(0);
  });

  it('refuses ports that are not of the web', async () => {
    const lane = await openLane();
    for (const port of [22, 25, 6379]) {
      expect((await plain(lane.server, `http://a.example:${port}/`)).status).toBe(403);
      expect((await openTunnel(lane.server, `a.example:${port}`)).status).toBe(403);
    }
    expect(lane.wasBlocked('http://a.example:25/')).toBe(true);
    expect(lane.wasBlocked('http://a.example/')).toBe(false);
  });

  it('keeps a page from the proxy itself, its own lane and others, where loopback is open', async () => {
    const policy = createEgressPolicy({ allow: ['127.0.0.0/8', '0.0.0.0/32', '::1'] });
    const proxy = await closing(startEgressProxy({ policy, log: { debug: () => undefined } }));
    const [own, other] = [await proxy.openLane(), await proxy.openLane()];
    const { port } = await site(innerAddress, (_, response) => response.end('open'));
    expect((await plain(own.server, `http://127.0.0.1:${port}/`)).body).toBe('open');
    for (const { server } of [own, other]) {
      for (const host of ['127.0.0.1', 'localhost', '0.0.0.0', '[::ffff:127.0.0.1]', '2130706433']) {
        const address = `${host}:${new URL(server).port}`;
        expect((await plain(own.server, `http://${address}/`)).status, address).toBe(403);
        expect((await openTunnel(own.server, address)).status, address).toBe(403);
      }
    }
    expect(own.stats().connections).toBe(1);
    await other.close();
    const late = await site(
      innerAddress,
      (_, response) => response.end('again'),
      undefined,
      Number(new URL(other.server).port),
    );
    expect((await plain(own.server, `http://127.0.0.1:${late.port}/`)).body).toBe('again');
  });

  it('tries the next address when one does not answer', async () => {
    const policy = createEgressPolicy({ allow: ['127.0.0.2/31'], lookup: several });
    const proxy = await closing(startEgressProxy({ policy, log: { debug: () => undefined } }));
    const { port } = await site(publicAddress, (_, response) => response.end('second'));
    const lane = await proxy.openLane();
    expect((await plain(lane.server, `http://a.example:${port}/`)).body).toBe('second');
  });
});

describe('time-outs', () => {
  const limits = { responseTimeoutMs: 200 };
  const hanging = () => site(publicAddress, (request, response) => void (request.url === '/ok' && response.end('ok')));

  it('end a plain request whose answer does not begin', async () => {
    const { port } = await hanging();
    const lane = await openLane({ limits });
    const started = performance.now();
    await expect(plain(lane.server, `http://a.example:${port}/hang`)).rejects.toThrow(networkError);
    expect(performance.now() - started).toBeGreaterThanOrEqual(195);
    expect(lane.stats()).toMatchObject({ stalledHosts: ['a.example'], stalledRequests: 1, failedRequests: 0 });
    expect(lane.failureOf(`http://a.example:${port}/`)).toBe('response-timeout');
    // On a kept connection too, and without sending it again.
    await plain(lane.server, `http://a.example:${port}/ok`);
    await expect(plain(lane.server, `http://a.example:${port}/hang`)).rejects.toThrow(networkError);
    expect(lane.stats().stalledRequests).toBe(2);
  });

  it('leave alone an answer that has begun, and an upload that moves on', async () => {
    const { port } = await site(publicAddress, (request, response) => {
      if (request.method === 'POST') request.resume().on('end', () => response.end('stored'));
      else {
        response.write('begun ');
        setTimeout(() => response.end('and ended'), 700);
      }
    });
    const lane = await openLane({ limits });
    const slow = plain(lane.server, `http://a.example:${port}/`);
    const upload = http.request(lane.server, { method: 'POST', path: `http://a.example:${port}/up` });
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
    expect(lane.stats().stalledRequests).toBe(0);
  });

  it('wait for a server that may be slow, as long as it may', async () => {
    const { port } = await site(publicAddress, (_, response) => void setTimeout(() => response.end('late'), 600));
    const lane = await openLane({ limits });
    const release = lane.expectSlow(`http://a.example:${port}/`, 5000);
    expect((await plain(lane.server, `http://a.example:${port}/`)).body).toBe('late');
    await expect(plain(lane.server, `http://b.example:${port}/`)).rejects.toThrow(networkError);
    release();
    await expect(plain(lane.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    const started = performance.now();
    lane.expectSlow(`http://a.example:${port}/`, 300);
    await expect(plain(lane.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    expect(performance.now() - started).toBeGreaterThanOrEqual(295);
  });

  it('do not count the time in which this process stood still', async () => {
    const asked = Promise.withResolvers<void>();
    const { port } = await site(publicAddress, (_, response) => {
      asked.resolve();
      setTimeout(() => response.end('there'), 50);
    });
    const lane = await openLane({ limits });
    const answer = plain(lane.server, `http://a.example:${port}/`);
    await asked.promise;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    expect((await answer).body).toBe('there');
  });

  it('cut a tunnel whose server never answers, not one that falls silent later', async () => {
    const silent = await tcp(publicAddress, () => undefined);
    const brief = await tcp(publicAddress, (socket) => void socket.once('data', () => socket.write('hello')));
    const lane = await openLane({ limits });
    const deaf = await openTunnel(lane.server, `deaf.example:${silent.port}`);
    const idle = await openTunnel(lane.server, `idle.example:${silent.port}`);
    const quiet = await openTunnel(lane.server, `quiet.example:${brief.port}`);
    quiet.socket.write('hello?');
    expect(await read(quiet.socket)).toBe('hello');
    quiet.socket.write('more');
    deaf.socket.write('anybody?');
    expect(await read(deaf.socket)).toBe('');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(quiet.socket.destroyed).toBe(false);
    expect(idle.socket.destroyed).toBe(false);
    expect(lane.stats()).toMatchObject({ stalledHosts: ['deaf.example'], stalledRequests: 1, openConnections: 2 });

    // Unless somebody knows better.
    expect(lane.cutSilent(`https://quiet.example:${brief.port}/x`, 60_000)).toBe(0);
    expect(lane.cutSilent(`https://quiet.example:${brief.port}/x`, 300)).toBe(1);
    expect(await read(quiet.socket)).toBe('');
    expect(idle.socket.destroyed).toBe(false);
  });

  it('end an attempt to connect', async () => {
    const { port } = await closing(startDeaf(publicAddress));
    const lane = await openLane({ limits: { connectTimeoutMs: 200 } });
    const started = performance.now();
    expect(await openTunnel(lane.server, `a.example:${port}`)).toMatchObject({
      status: 504,
      headers: { 'x-webcapture-egress': 'connect-timeout' },
    });
    await expect(plain(lane.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    // Unless told otherwise, ten seconds each.
    expect(performance.now() - started).toBeLessThan(8000);
    expect(lane.failureOf(`http://a.example:${port}/`)).toBe('connect-timeout');
  });

  it('share the time to connect among the addresses', async () => {
    const port = await freePort();
    await closing(startDeaf('127.0.0.3', port));
    await site(publicAddress, (_, response) => response.end('second'), undefined, port);
    const policy = createEgressPolicy({ allow: ['127.0.0.2/31'], lookup: several });
    const options = { policy, log: { debug: () => undefined }, limits: { connectTimeoutMs: 1000 } };
    const lane = await (await closing(startEgressProxy(options))).openLane();
    expect((await plain(lane.server, `http://a.example:${port}/`)).body).toBe('second');
  });
});

describe('limits', () => {
  it('hold for connections, of which closed ones do not count', async () => {
    const { port } = await tcp(publicAddress, () => undefined);
    const lane = await openLane({ limits: { maxConnections: 2 } });
    const first = await openTunnel(lane.server, `a.example:${port}`);
    await openTunnel(lane.server, `b.example:${port}`);
    expect(await openTunnel(lane.server, `c.example:${port}`)).toMatchObject({
      status: 503,
      headers: { 'x-webcapture-egress': 'limit' },
    });
    expect(lane.stats()).toMatchObject({ openConnections: 2, limitReached: 'connections' });
    first.socket.destroy();
    await until('a connection to close', () => lane.stats().openConnections === 1);
    expect((await openTunnel(lane.server, `c.example:${port}`)).status).toBe(200);
  });

  it('hold for bytes: everything is cut then, for good', async () => {
    const flood = Buffer.alloc(64 * 1024, 1);
    const { port } = await tcp(publicAddress, (socket) => {
      const pour = () => {
        while (socket.write(flood));
      };
      socket.on('drain', pour);
      socket.once('data', pour);
    });
    const { port: webPort } = await site(publicAddress, (_, response) => response.end('x'.repeat(1000)));
    const lane = await openLane({ limits: { maxDownloadBytes: 1024 * 1024 } });
    expect((await plain(lane.server, `http://a.example:${webPort}/`)).status).toBe(200);
    const idle = await openTunnel(lane.server, `b.example:${port}`);
    const { socket } = await openTunnel(lane.server, `a.example:${port}`);
    socket.resume().write('go');
    await once(socket, 'close');
    expect(await read(idle.socket)).toBe('');
    expect(lane.stats().limitReached).toBe('download');
    expect(lane.stats().bytesReceived).toBeLessThan(2 * 1024 * 1024);
    await expect(plain(lane.server, `http://a.example:${webPort}/`)).rejects.toThrow(networkError);
    expect((await openTunnel(lane.server, `a.example:${port}`)).status).toBe(503);
  });

  it('hold for the body of a plain response', async () => {
    const { port } = await site(publicAddress, (_, response) => response.end(Buffer.alloc(3 * 1024 * 1024)));
    const lane = await openLane({ limits: { maxDownloadBytes: 1024 * 1024 } });
    await expect(plain(lane.server, `http://a.example:${port}/`)).rejects.toThrow(networkError);
    expect(lane.stats().limitReached).toBe('download');
  });
});

describe('closing a lane', () => {
  it('destroys all that is under way, and touches no other lane', async () => {
    const { port } = await site(publicAddress, (_, response) => void response.write('begun'));
    let pending = 0;
    const never: Lookup = (name) => {
      if (!name.startsWith('never')) return lookup(name, new AbortController().signal);
      pending += 1;
      return new Promise(() => undefined);
    };
    const policy = createEgressPolicy({ allow: [`${publicAddress}/32`], lookup: never });
    const proxy = await closing(startEgressProxy({ policy, log: { debug: () => undefined } }));
    const [lane, other] = [await proxy.openLane(), await proxy.openLane()];
    const tunnelled = await openTunnel(lane.server, `a.example:${port}`);
    const untouched = await openTunnel(other.server, `a.example:${port}`);
    const cut = [
      plain(lane.server, `http://a.example:${port}/`),
      plain(lane.server, 'http://never.example/'),
      openTunnel(lane.server, 'never2.example:443').then(({ status }) => Promise.reject(new Error(`${status}`))),
    ];
    const settled = Promise.allSettled(cut);
    await until('everything to be under way', () => lane.stats().openConnections === 2 && pending === 2);

    // It waits for none of them: they would never end.
    await lane.close();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await read(tunnelled.socket)).toBe('');
    await until('the connections to be closed', () => lane.stats().openConnections === 0);
    expect(lane.stats()).toMatchObject({ blockedRequests: 0, failedRequests: 0, stalledRequests: 0 });
    await expect(plain(lane.server, `http://a.example:${port}/`)).rejects.toThrow(/ECONNREFUSED/);
    await lane.close();

    expect(untouched.socket.destroyed).toBe(false);
    await proxy.close();
    expect(await read(untouched.socket)).toBe('');
  });
});
