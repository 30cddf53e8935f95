import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { openUpstream, Upstream } from '@webcapture/shared/egress/upstream.ts';
import { readUpstreamProxy } from '@webcapture/shared/egress/upstream-config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { sendEvent } from '../../../services/controller/jobs/webhooks/send.ts';
import type { EgressLimits } from '../../../services/renderer/egress/counters.ts';
import { startEgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { closingAfterEach } from '../../harness/closing.ts';
import { freePort } from '../../harness/free-port.ts';
import { natsCertificates } from '../../harness/nats-certificates.ts';
import { timeOf } from '../../harness/time-of.ts';
import {
  routedAddress,
  startHttpUpstream,
  startSocksUpstream,
  type TestUpstream,
  upstreamAddress,
} from '../../harness/upstream-proxies.ts';
import { openTunnel, plain, read } from './proxy-client.ts';
import { notationsOf } from './refused-hosts.ts';
import { publicAddress, startSite } from './sites.ts';
import { networkError } from './use-sessions.ts';

const closing = closingAfterEach();

/** Resolves most names to an address that is reachable only through the upstream proxies. The first lines list the exceptions. */
const lookup: Lookup = async (name) => {
  if (name.startsWith('nowhere.')) throw new Error('no such name');
  if (name.startsWith('inner.')) return [{ address: '10.0.0.1', family: 4 }];
  if (name.startsWith('two.')) return [otherAddress, routedAddress].map((address) => ({ address, family: 4 }));
  // The names of the upstream proxy itself.
  if (name.endsWith('.test')) return [{ address: upstreamAddress, family: 4 }];
  if (name.includes('unrouted.')) return [{ address: unroutedAddress, family: 4 }];
  if (name.startsWith('direct.')) return [{ address: publicAddress, family: 4 }];
  return [{ address: routedAddress, family: 4 }];
};

const otherAddress = '93.184.215.15';

/** An address for documentation, to which no direct connection succeeds. */
const unroutedAddress = '192.0.2.1';
const isUnreachable = { 'x-webcapture-egress': expect.stringMatching(/^(connect-timeout|unreachable)$/) };

type Environment = Readonly<Record<string, string>>;

function upstreamOf(url: string, environment: Environment = {}) {
  const env = new EnvReader({ WEBCAPTURE_UPSTREAM_PROXY: url, ...environment });
  const proxy = env.finish(() => ({ it: readUpstreamProxy(env) })).it;
  if (proxy === undefined) throw new Error('there is no upstream proxy');
  const failures: string[] = [];
  return { upstream: new Upstream(proxy, { lookup, onFailure: (reason) => failures.push(reason) }), failures };
}

const policy = createEgressPolicy({ allow: [publicAddress, upstreamAddress, unroutedAddress], lookup });

async function openSession(url: string, environment?: Environment, limits: Partial<EgressLimits> = {}) {
  const { upstream, failures } = upstreamOf(url, environment);
  const log = { debug: () => undefined };
  const proxy = await closing(startEgressProxy({ policy, upstream, log, limits }));
  return { session: await proxy.openSession(), failures };
}

const startOrigin = () =>
  closing(startSite('127.0.0.1', (request, response) => response.end(`for ${request.headers.host}`)));

const right = { user: 'wc', password: 'pass:word' };
const asVariables = ({ user, password }: typeof right) => ({
  WEBCAPTURE_UPSTREAM_PROXY_USER: user,
  WEBCAPTURE_UPSTREAM_PROXY_PASSWORD: password,
});

/** Every protocol, with the target that the upstream proxy sees for `site.example:port`. */
const protocols = [
  { protocol: 'http', start: startHttpUpstream, environment: {}, host: routedAddress },
  {
    protocol: 'http',
    start: startHttpUpstream,
    environment: { WEBCAPTURE_UPSTREAM_PROXY_RESOLVE: 'proxy' },
    host: 'site.example',
  },
  { protocol: 'socks5', start: startSocksUpstream, environment: {}, host: routedAddress },
  {
    protocol: 'socks5h',
    start: startSocksUpstream,
    environment: { WEBCAPTURE_UPSTREAM_PROXY_RESOLVE: 'proxy' },
    host: 'site.example',
  },
] as const;

const urlOf = (protocol: string, { port }: TestUpstream) => `${protocol}://${upstreamAddress}:${port}`;

describe.each(protocols)(
  'an upstream proxy at $protocol:// that is sent $host',
  ({ protocol, start, environment, host }) => {
    it('carries plain requests and tunnels, with and without credentials', async () => {
      const origin = await startOrigin();
      for (const credentials of [undefined, right]) {
        const upstream = await closing(start({ leadsTo: origin.port, ...(credentials && { credentials }) }));
        const { session, failures } = await openSession(urlOf(protocol, upstream), {
          ...environment,
          ...(credentials && asVariables(credentials)),
        });
        expect(await plain(session.server, 'http://site.example/a')).toMatchObject({
          status: 200,
          body: 'for site.example',
        });
        const { status, socket } = await openTunnel(session.server, 'site.example:443');
        expect(status).toBe(200);
        socket.write('GET / HTTP/1.1\r\nHost: through.tunnel\r\n\r\n');
        expect(await read(socket)).toMatch(/^HTTP\/1.1 200 .*for through.tunnel$/s);
        expect(upstream.targets).toEqual([`${host}:80`, `${host}:443`]);
        expect(session.stats()).toMatchObject({ connections: 2, failedRequests: 0 });
        expect(failures).toEqual([]);
        // The source address is not that of pages, which servers of this machine refuse.
        expect(upstream.sources).toEqual(new Set(['127.0.0.1']));
      }
    });

    it('is not asked for addresses and names of this machine, nor for itself', async () => {
      const origin = await startOrigin();
      const upstream = await closing(start({ leadsTo: origin.port }));
      const { session } = await openSession(urlOf(protocol, upstream), environment);
      const notations = ['127.0.0.1', '0.0.0.0', '169.254.169.254', '10.0.0.1'].flatMap(notationsOf);
      for (const name of [...notations, 'localhost', 'a.localhost', '[::1]']) {
        const host = encodeURI(name).replaceAll(/%5[BD]/g, decodeURI);
        expect((await openTunnel(session.server, `${host}:80`)).status, name).toBeOneOf([400, 403]);
      }
      // The operator has allowed the address of the upstream proxy.
      expect(await openTunnel(session.server, `${upstreamAddress}:${upstream.port}`)).toMatchObject({ status: 403 });
      expect(upstream.connections()).toBe(0);
    });

    it('fails requests if it refuses the credentials, and reports that', async () => {
      const upstream = await closing(start({ leadsTo: 1, credentials: right }));
      const wrong = { ...environment, ...asVariables({ user: 'wc', password: 'wrong' }) };
      for (const variables of [environment, wrong]) {
        const { session, failures } = await openSession(urlOf(protocol, upstream), variables);
        expect(await openTunnel(session.server, 'site.example:443')).toMatchObject({
          status: 502,
          headers: { 'x-webcapture-egress': 'upstream-authentication' },
        });
        await expect(plain(session.server, 'http://site.example/')).rejects.toThrow(networkError);
        expect(failures).toEqual(['authentication', 'authentication']);
      }
    });

    it('times out if it does not answer', async () => {
      const upstream = await closing(start({ leadsTo: 1, answer: 'silent' }));
      const { session, failures } = await openSession(urlOf(protocol, upstream), environment, {
        connectTimeoutMs: 300,
      });
      const ask = async () =>
        expect(await openTunnel(session.server, 'site.example:443')).toMatchObject({
          status: 504,
          headers: { 'x-webcapture-egress': 'upstream-timeout' },
        });
      expect(await timeOf(ask)).toBeLessThan(3000);
      expect(failures).toEqual(['timeout']);
    });

    it('is told apart from its targets if it cannot be reached or speaks another protocol', async () => {
      const garbled = await closing(start({ leadsTo: 1, answer: 'garbage' }));
      for (const port of [await freePort(), garbled.port]) {
        const { session, failures } = await openSession(`${protocol}://${upstreamAddress}:${port}`, environment);
        expect(await openTunnel(session.server, 'site.example:443')).toMatchObject({
          headers: { 'x-webcapture-egress': 'upstream-unreachable' },
        });
        expect(failures).toEqual(['unreachable']);
      }
    });
  },
);

describe('answers of an upstream proxy', () => {
  it.each([
    { protocol: 'http', answer: 403, kind: 'upstream-refused', reported: ['refused'] },
    { protocol: 'http', answer: 502, kind: 'unreachable', reported: [] },
    { protocol: 'socks5', answer: 2, kind: 'upstream-refused', reported: ['refused'] },
    { protocol: 'socks5', answer: 1, kind: 'unreachable', reported: [] },
    { protocol: 'socks5', answer: 3, kind: 'unreachable', reported: [] },
    { protocol: 'socks5', answer: 4, kind: 'unreachable', reported: [] },
    { protocol: 'socks5', answer: 5, kind: 'unreachable', reported: [] },
    { protocol: 'socks5', answer: 6, kind: 'unreachable', reported: [] },
    { protocol: 'socks5', answer: 8, kind: 'unreachable', reported: [] },
    { protocol: 'socks5', answer: 7, kind: 'upstream-unreachable', reported: ['unreachable'] },
  ] as const)('of $protocol://: after $answer the failure is $kind', async ({ protocol, answer, kind, reported }) => {
    const start = protocol === 'http' ? startHttpUpstream : startSocksUpstream;
    const upstream = await closing(start({ leadsTo: 1, answer }));
    const { session, failures } = await openSession(urlOf(protocol, upstream));
    expect((await openTunnel(session.server, 'site.example:443')).headers['x-webcapture-egress']).toBe(kind);
    expect(session.failureOf('https://site.example/')).toBe(kind);
    expect(failures).toEqual(reported);
  });
});

describe('targets with several addresses', () => {
  it.each([
    ['http', startHttpUpstream],
    ['socks5', startSocksUpstream],
  ] as const)('are reached by the next address if %s:// does not reach the first', async (protocol, start) => {
    const origin = await startOrigin();
    const upstream = await closing(start({ leadsTo: origin.port, unreachable: otherAddress }));
    const { session, failures } = await openSession(urlOf(protocol, upstream));
    expect((await plain(session.server, 'http://two.example/')).body).toBe('for two.example');
    expect(upstream.targets).toEqual([`${otherAddress}:80`, `${routedAddress}:80`]);
    expect(failures).toEqual([]);
  });
});

describe('an upstream proxy with TLS', () => {
  const { ca, serverCert: cert, serverKey: key } = natsCertificates;
  const known = getCACertificates('default');
  afterEach(() => setDefaultCACertificates(known));

  it('is used if its certificate is trusted and has its name', async () => {
    const origin = await startOrigin();
    const upstream = await closing(startHttpUpstream({ leadsTo: origin.port, tls: { cert, key }, credentials: right }));
    const ask = async (host: string) => {
      const { session } = await openSession(`https://${host}:${upstream.port}`, asVariables(right));
      return openTunnel(session.server, 'site.example:443');
    };
    expect((await ask('nats.test')).headers['x-webcapture-egress']).toBe('upstream-unreachable');
    setDefaultCACertificates([...known, ca]);
    expect((await ask('other.test')).headers['x-webcapture-egress']).toBe('upstream-unreachable');
    expect(upstream.targets).toEqual([]);
    const { status, socket } = await ask('nats.test');
    expect(status).toBe(200);
    socket.write('GET / HTTP/1.1\r\nHost: through.tls\r\n\r\n');
    expect(await read(socket)).toMatch(/for through.tls$/);
  });
});

describe('an upstream proxy with a name', () => {
  it('is not a target by its address, nor by another name', async () => {
    const upstream = await closing(startHttpUpstream({ leadsTo: 1 }));
    const { session } = await openSession(`http://proxy.test:${upstream.port}`);
    for (const host of [upstreamAddress, 'proxy.test', 'alias.test']) {
      expect(await openTunnel(session.server, `${host}:${upstream.port}`)).toMatchObject({ status: 403 });
    }
    expect(upstream.connections()).toBe(0);
  });

  it('that does not resolve is reported as unreachable', async () => {
    const { session, failures } = await openSession('http://nowhere.proxy:3128');
    expect((await openTunnel(session.server, 'site.example:443')).status).toBe(502);
    expect(failures).toEqual(['unreachable']);
  });
});

describe('names', () => {
  it('that resolve to a refused address, or to none, do not reach the upstream proxy', async () => {
    const upstream = await closing(startHttpUpstream({ leadsTo: 1 }));
    const { session } = await openSession(urlOf('http', upstream));
    expect((await openTunnel(session.server, 'inner.example:443')).headers['x-webcapture-egress']).toBe('blocked');
    expect((await openTunnel(session.server, 'nowhere.example:443')).headers['x-webcapture-egress']).toBe('unresolved');
    expect(upstream.connections()).toBe(0);
  });

  it('are not resolved here if the upstream proxy resolves them', async () => {
    const origin = await startOrigin();
    const upstream = await closing(startHttpUpstream({ leadsTo: origin.port }));
    const { session } = await openSession(urlOf('http', upstream), { WEBCAPTURE_UPSTREAM_PROXY_RESOLVE: 'proxy' });
    for (const name of ['inner.example', 'nowhere.example']) {
      expect((await openTunnel(session.server, `${name}:443`)).status).toBe(200);
    }
    expect(upstream.targets).toEqual(['inner.example:443', 'nowhere.example:443']);
  });

  it('of noProxy are connected to directly, under the egress policy', async () => {
    const upstream = await closing(startHttpUpstream({ leadsTo: 1 }));
    for (const resolve of ['renderer', 'proxy']) {
      const { session } = await openSession(
        urlOf('http', upstream),
        { WEBCAPTURE_UPSTREAM_PROXY_RESOLVE: resolve, WEBCAPTURE_NO_PROXY: 'unrouted.example,.inner.example' },
        { connectTimeoutMs: 200 },
      );
      expect((await openTunnel(session.server, 'www.unrouted.example:443')).headers).toMatchObject(isUnreachable);
      expect((await openTunnel(session.server, 'inner.example:443')).status).toBe(403);
    }
    expect(upstream.connections()).toBe(0);
  });

  it('in ranges of noProxy are connected to directly, and other names through the upstream proxy', async () => {
    const origin = await startOrigin();
    const upstream = await closing(startHttpUpstream({ leadsTo: origin.port }));
    const { session } = await openSession(
      urlOf('http', upstream),
      { WEBCAPTURE_NO_PROXY: `${unroutedAddress}/32` },
      { connectTimeoutMs: 1000 },
    );
    for (const host of ['unrouted.example', unroutedAddress]) {
      expect((await openTunnel(session.server, `${host}:443`)).headers).toMatchObject(isUnreachable);
    }
    expect((await openTunnel(session.server, 'site.example:443')).status).toBe(200);
    expect(upstream.targets).toEqual([`${routedAddress}:443`]);
  });

  it('of this machine that the operator allows are connected to directly', async () => {
    const origin = await closing(startSite(publicAddress, (_, response) => response.end('direct')));
    const upstream = await closing(startHttpUpstream({ leadsTo: 1 }));
    const { session } = await openSession(urlOf('http', upstream));
    for (const host of ['direct.example', publicAddress]) {
      expect((await plain(session.server, `http://${host}:${origin.port}/`)).body, host).toBe('direct');
    }
    expect(upstream.connections()).toBe(0);
  });
});

describe('failures of the upstream proxy', () => {
  it('are counted by reason, and logged without the credentials', async () => {
    // The errors of the SOCKS library contain the password.
    const server = await closing(startSocksUpstream({ leadsTo: 1, credentials: right }));
    const { proxy } = upstreamOf(urlOf('socks5', server), asVariables({ user: 'wc', password: 'wrong-word' })).upstream;
    const registry = new Registry();
    const warn = vi.fn<Logger['warn']>();
    const upstream = openUpstream(proxy, { registry, log: { warn } });
    const never = new AbortController().signal;
    for (let round = 0; round < 3; round += 1) {
      await expect(upstream?.connect([routedAddress], 443, 5000, never)).rejects.toMatchObject({
        kind: 'upstream-authentication',
      });
    }
    expect(await registry.metrics()).toContain('webcapture_upstream_proxy_failures_total{reason="authentication"} 3');
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ host: upstreamAddress, port: server.port, reason: 'authentication' }),
      'connection through the upstream proxy failed (authentication)',
    );
    expect(inspect(warn.mock.calls, { depth: 9 })).not.toContain('wrong-word');
  });
});

describe('webhooks', () => {
  const event = { headers: { 'content-type': 'application/json' }, body: '{}' };

  it('are sent through the upstream proxy, and say when it fails', async () => {
    const origin = await closing(startSite('127.0.0.1', (_, response) => response.writeHead(204).end()));
    const upstream = await closing(startSocksUpstream({ leadsTo: origin.port, credentials: right }));
    const send = (variables: Environment) =>
      sendEvent('http://hooks.example/x', event, { policy, ...upstreamOf(urlOf('socks5', upstream), variables) });
    expect(await send(asVariables(right))).toEqual({ delivered: true, status: 204 });
    expect(upstream.targets).toEqual([`${routedAddress}:80`]);
    expect(await send({})).toMatchObject({ delivered: false, reason: 'the upstream proxy of this service failed' });
  });
});
