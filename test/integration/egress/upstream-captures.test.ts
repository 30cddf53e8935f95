import { describe, expect, it } from 'vitest';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { Upstream } from '@webcapture/shared/egress/upstream.ts';
import type { UpstreamProxy } from '@webcapture/shared/egress/upstream-config.ts';
import { closingAfterEach } from '../../harness/closing.ts';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';
import {
  routedAddress,
  startHttpUpstream,
  startSocksUpstream,
  type TestUpstream,
  upstreamAddress,
} from '../../harness/upstream-proxies.ts';

const closing = closingAfterEach();

const lookup: Lookup = async (name) => [{ address: name.startsWith('inner.') ? '10.0.0.1' : routedAddress, family: 4 }];

const credentials = { user: 'wc', password: 'secret' };

function startEngine({ port }: TestUpstream, changes: Partial<UpstreamProxy>): Promise<TestEngine> {
  const defaults = { protocol: 'http', resolve: 'renderer', noProxy: { names: [], ranges: [] } } as const;
  const upstream = new Upstream({ ...defaults, host: upstreamAddress, port, ...changes });
  return closing(TestEngine.start({}, [], { lookup, upstream }));
}

/** A page with an image of another host, and one of a host that the policy refuses. */
const startOrigin = () =>
  closing(
    TestSite.start({
      '/': html('<img src="http://pictures.example/red.svg"><img src="http://inner.example/red.svg">'),
      '/red.svg': (_, response) => {
        response.writeHead(200, { 'content-type': 'image/svg+xml' });
        response.end(
          '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><rect width="100" height="100" fill="#f00"/></svg>',
        );
      },
    }),
  );

describe('a page', () => {
  it('is captured through an HTTP proxy with credentials, without requests for refused hosts', async () => {
    const origin = await startOrigin();
    const proxy = await closing(startHttpUpstream({ leadsTo: origin.port, credentials }));
    const engine = await startEngine(proxy, { credentials });
    const { picture, report } = await engine.shoot('http://site.example/');
    expect(picture.at(50, 50)).toBe('#ff0000');
    expect(report).toMatchObject({ finalUrl: 'http://site.example/', blockedRequests: 1 });
    expect([...proxy.targets]).toEqual([`${routedAddress}:80`, `${routedAddress}:80`]);
    await expect(engine.render('http://inner.example/')).rejects.toMatchObject({ code: 'URL_BLOCKED' });
    expect(proxy.targets).toHaveLength(2);
  });

  it('is captured through a SOCKS5 proxy that resolves names', { tags: 'long' }, async () => {
    const origin = await startOrigin();
    const proxy = await closing(startSocksUpstream({ leadsTo: origin.port }));
    const engine = await startEngine(proxy, { protocol: 'socks5h', resolve: 'proxy' });
    const { picture } = await engine.shoot('http://site.example/');
    expect(picture.at(50, 50)).toBe('#ff0000');
    expect(new Set(proxy.targets)).toEqual(new Set(['site.example:80', 'pictures.example:80', 'inner.example:80']));
    await expect(engine.render('http://127.0.0.1/')).rejects.toMatchObject({ code: 'URL_BLOCKED' });
    expect(proxy.targets).not.toContain('127.0.0.1:80');
  });
});

describe('the client reads', () => {
  it.each([
    [
      'http',
      'wrong credentials',
      { credentials },
      'CAPTURE_FAILED',
      'service',
      /upstream proxy of this service refuses the credentials/,
    ],
    [
      'https',
      'wrong credentials',
      { credentials },
      'CAPTURE_FAILED',
      'service',
      /upstream proxy of this service refuses the credentials/,
    ],
    [
      'https',
      'no answer of a proxy',
      { answer: 'garbage' },
      'CAPTURE_FAILED',
      'service',
      /upstream proxy of this service cannot be reached/,
    ],
    [
      'https',
      'a refusal',
      { answer: 403 },
      'NAVIGATION_FAILED',
      'page',
      /upstream proxy of this service refuses to connect to site.example/,
    ],
  ] as const)(
    'of %s after %s why the upstream proxy failed',
    { tags: 'long' },
    async (scheme, _, options, code, causedBy, message) => {
      const proxy = await closing(startHttpUpstream({ leadsTo: 1, ...options }));
      const engine = await startEngine(proxy, {});
      const failed = engine.render(`${scheme}://site.example/`);
      await expect(failed).rejects.toMatchObject({ code, causedBy, message: expect.stringMatching(message) });
    },
  );
});
