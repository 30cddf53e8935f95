import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createSystemLookup, type Lookup, type ResolvedAddress } from '@webcapture/shared/egress/lookup.ts';
import { anyAddress } from '@webcapture/shared/runtime/listen-address.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { createMetrics, startOpsServer } from '@webcapture/shared/runtime/ops-server.ts';
import { connectivityChecks } from '../../../services/renderer/egress/serve.ts';
import { freePort } from '../../harness/free-port.ts';
import { openTunnel, plain, read } from './proxy-client.ts';
import { notationsOf, refusedAddresses, refusedHosts } from './refused-hosts.ts';
import { innerAddress, publicAddress } from './sites.ts';
import { networkError, several, useSessions } from './use-sessions.ts';

const { site, tcp, closing, openProxy, openSession, onEnd } = useSessions();

describe('the policy', () => {
  it('applies to every notation of an address, and no connection reaches a refused address', async () => {
    const canary = await tcp(innerAddress, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nsecret'));
    const { port } = canary;
    const session = await openSession();
    const agent = new http.Agent({ keepAlive: true });
    onEnd(() => agent.destroy());
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
      const forwarded = await plain(session.server, `http://${authority}/`, { agent });
      expect([400, 403]).toContain(forwarded.status);
      const tunneled = await openTunnel(session.server, authority);
      expect([400, 403]).toContain(tunneled.status);
      tunneled.socket.destroy();
      if (forwarded.status !== 403) continue;
      plainly += 1;
      expect(forwarded.headers['x-webcapture-egress']).toBe('blocked');
      expect(tunneled.headers['x-webcapture-egress']).toBe('blocked');
    }
    expect(plainly).toBeGreaterThan(150);
    expect(canary.connections()).toBe(0);
    expect(session.stats().blockedHosts).toEqual(
      expect.arrayContaining(['127.0.0.1', '::1', 'localhost', 'inner.example']),
    );
    expect(session.stats().blockedRequests).toBeGreaterThanOrEqual(2 * plainly);
    expect(session.wasBlocked(`http://inner.example:${port}/any`)).toBe(true);
    expect(session.wasBlocked(`https://0x7f.1:${port}/any`)).toBe(true);
    expect(session.wasBlocked('http://a.example/')).toBe(false);
    expect(session.wasBlocked('not a url')).toBe(false);
  });

  it('answers connectivity checks of full Chromium itself, without a request to a server', async () => {
    const session = await openSession({ lookup: async (name) => expect.unreachable(`${name} was looked up`) });
    for (const url of connectivityChecks)
      expect(await plain(session.server, url)).toMatchObject({ status: 204, body: '' });
    expect(session.stats().blockedRequests).toBe(0);
  });

  it('applies to the target of a redirect', async () => {
    const canary = await tcp(innerAddress, (socket) => socket.end('secret'));
    const { port } = await site(publicAddress, (_, response) => {
      response.writeHead(302, { location: `http://inner.example:${canary.port}/secret` });
      response.end();
    });
    const session = await openSession();
    const { status, headers } = await plain(session.server, `http://a.example:${port}/`);
    expect(status).toBe(302);
    expect(await plain(session.server, headers.location ?? '')).toMatchObject({ status: 403 });
    expect(canary.connections()).toBe(0);
  });

  it('applies to names that change their address', async () => {
    // The canary uses the port of the public site, so that only the address decides.
    const port = await freePort();
    await site(publicAddress, (_, response) => response.end('public'), undefined, port);
    let inner = 0;
    const canary = http.createServer((_, response) => {
      inner += 1;
      response.end('secret');
    });
    canary.listen(port, innerAddress);
    await once(canary, 'listening');
    onEnd(() => void canary.close());

    let asked = 0;
    const rebinding: Lookup = async (): Promise<ResolvedAddress[]> => [
      { address: (asked += 1) === 1 ? publicAddress : innerAddress, family: 4 },
    ];
    const proxy = await openProxy({ lookup: rebinding });
    const session = await proxy.openSession();
    const url = `http://rebind.example:${port}/`;
    for (let round = 0; round < 3; round += 1) {
      const headers = { connection: 'close' };
      expect((await plain(session.server, url, { headers })).body).toBe('public');
      expect((await openTunnel(session.server, `REBIND.example.:${port}`)).status).toBe(200);
    }
    expect(asked).toBe(1);

    const next = await proxy.openSession();
    expect((await plain(next.server, url)).status).toBe(403);
    expect(await openTunnel(next.server, `rebind.example:${port}`)).toMatchObject({ status: 403 });
    expect(inner).toBe(0);
  });

  it('refuses a name with a public and an internal address', async () => {
    const both: Lookup = async () => [
      { address: publicAddress, family: 4 },
      { address: innerAddress, family: 4 },
    ];
    const { port, connections } = await site(publicAddress, (_, response) => response.end());
    const session = await openSession({ lookup: both });
    expect((await plain(session.server, `http://a.example:${port}/`)).status).toBe(403);
    expect(connections()).toBe(0);
  });

  it('refuses ports that are not web ports', async () => {
    const session = await openSession();
    for (const port of [22, 25, 6379]) {
      expect((await plain(session.server, `http://a.example:${port}/`)).status).toBe(403);
      expect((await openTunnel(session.server, `a.example:${port}`)).status).toBe(403);
    }
    expect(session.wasBlocked('http://a.example:25/')).toBe(true);
    expect(session.wasBlocked('http://a.example/')).toBe(false);
  });

  it('blocks the proxy itself, for its own session and others, where loopback is allowed', async () => {
    const proxy = await openProxy({ allow: ['127.0.0.0/8', '0.0.0.0/32', '::1'], lookup: createSystemLookup() });
    const [own, other] = [await proxy.openSession(), await proxy.openSession()];
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

  it('blocks proxies and operations ports of other processes on this machine, where loopback is allowed', async () => {
    const rules = { allow: ['127.0.0.0/8', '0.0.0.0/32', '::1'], lookup: createSystemLookup() };
    const [own, other] = [await openSession(rules), await openSession(rules)];
    const log = createLogger({ service: 'test', pod: 'test', level: 'silent' });
    const ready = { metrics: createMetrics('test'), log, notReady: () => null };
    const ops = await closing(startOpsServer({ ...ready, host: '0.0.0.0', port: 0 }));
    expect((await fetch(`http://127.0.0.1:${ops.port}/livez`)).status).toBe(200);
    for (const port of [ops.port, new URL(other.server).port]) {
      for (const host of ['127.0.0.1', 'localhost', '127.3.2.1', '0.0.0.0', '[::ffff:127.0.0.1]']) {
        const address = `${host}:${port}`;
        await expect(plain(own.server, `http://${address}/metrics`), address).rejects.toThrow(networkError);
        const { socket } = await openTunnel(own.server, address);
        expect(await read(socket), address).toBe('');
      }
    }
    expect(other.stats()).toMatchObject({ blockedRequests: 0, failedRequests: 0 });
  });

  it.runIf(anyAddress === '::')(
    'blocks the operations port of its process over IPv6, where loopback is allowed',
    async () => {
      const own = await openSession({ allow: ['::/0'], lookup: createSystemLookup() });
      const log = createLogger({ service: 'test', pod: 'test', level: 'silent' });
      const ready = { metrics: createMetrics('test'), log, notReady: () => null };
      const ops = await closing(startOpsServer({ ...ready, host: anyAddress, port: 0 }));
      const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
      const addresses = all.filter(({ family, scopeid }) => family === 'IPv6' && scopeid === 0).map((it) => it.address);
      expect(addresses).toContain('::1');
      for (const address of addresses) {
        expect((await fetch(`http://[${address}]:${ops.port}/livez`)).status).toBe(200);
        expect((await plain(own.server, `http://[${address}]:${ops.port}/metrics`)).status, address).toBe(403);
        expect((await openTunnel(own.server, `[${address}]:${ops.port}`)).status, address).toBe(403);
      }
      expect((await fetch(`http://127.0.0.1:${ops.port}/livez`)).status).toBe(200);
      await ops.close();
      const { port } = await site('::1', (_, response) => response.end('open'), undefined, ops.port);
      expect((await plain(own.server, `http://[::1]:${port}/`)).body).toBe('open');
    },
  );

  it('tries the next address when one does not respond', async () => {
    const { port } = await site(publicAddress, (_, response) => response.end('second'));
    const session = await openSession({ allow: ['127.0.0.2/31'], lookup: several });
    expect((await plain(session.server, `http://a.example:${port}/`)).body).toBe('second');
  });
});
