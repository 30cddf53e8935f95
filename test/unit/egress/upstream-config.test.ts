import { describe, expect, test } from 'vitest';
import { isWithoutProxy, readUpstreamProxy } from '@webcapture/shared/egress/upstream-config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { readControllerConfig } from '../../../services/controller/config.ts';
import { readRendererConfig } from '../../../services/renderer/config.ts';

const read = (environment: Readonly<Record<string, string>>) => {
  const env = new EnvReader(environment);
  return env.finish(() => ({ proxy: readUpstreamProxy(env) })).proxy;
};

const url = (text: string) => ({ WEBCAPTURE_UPSTREAM_PROXY: text });
const viaProxy = { WEBCAPTURE_UPSTREAM_PROXY_RESOLVE: 'proxy' };

test('without a URL there is no upstream proxy', () => {
  expect(read({})).toBeUndefined();
});

test.each([
  ['http://Proxy.Corp.example:3128/', 'http', 'proxy.corp.example', 3128],
  ['https://10.0.0.1', 'https', '10.0.0.1', 443],
  ['http://proxy', 'http', 'proxy', 80],
  ['socks5://[fd00::1]:1081', 'socks5', 'fd00::1', 1081],
  ['SOCKS5://proxy', 'socks5', 'proxy', 1080],
])('%s is parsed', (text, protocol, host, port) => {
  expect(read(url(text))).toEqual({ protocol, host, port, resolve: 'renderer', noProxy: { names: [], ranges: [] } });
});

test('renderers and controllers read the upstream proxy', () => {
  const expected = { upstreamProxy: { protocol: 'http', host: 'proxy', port: 3128 } };
  expect(readRendererConfig(url('http://proxy:3128'))).toMatchObject(expected);
  expect(readControllerConfig(url('http://proxy:3128'))).toMatchObject(expected);
});

test('credentials are kept apart from the URL', () => {
  const credentials = { WEBCAPTURE_UPSTREAM_PROXY_USER: 'wc', WEBCAPTURE_UPSTREAM_PROXY_PASSWORD: 'a:b' };
  expect(read({ ...url('http://proxy:1'), ...credentials })?.credentials).toEqual({ user: 'wc', password: 'a:b' });
});

test.each([
  [url('proxy:3128'), 'WEBCAPTURE_UPSTREAM_PROXY must be an address such as http://host:port'],
  [url('ftp://proxy'), 'WEBCAPTURE_UPSTREAM_PROXY must be an address such as http://host:port'],
  [url('http://'), 'WEBCAPTURE_UPSTREAM_PROXY must have a valid host and no path'],
  [url('http://proxy/path'), 'WEBCAPTURE_UPSTREAM_PROXY must have a valid host and no path'],
  [url('http://a..b'), 'WEBCAPTURE_UPSTREAM_PROXY must have a valid host and no path'],
  [url('http://proxy:0'), 'WEBCAPTURE_UPSTREAM_PROXY must have a port from 1 to 65535, not 0'],
  [url('http://wc:hidden@proxy'), 'WEBCAPTURE_UPSTREAM_PROXY must not contain credentials'],
  [url('socks5h://proxy'), 'WEBCAPTURE_UPSTREAM_PROXY_RESOLVE must be proxy with socks5h://'],
  [{ ...url('socks5://proxy'), ...viaProxy }, 'WEBCAPTURE_UPSTREAM_PROXY_RESOLVE must be renderer with socks5://'],
  [
    { WEBCAPTURE_UPSTREAM_PROXY_USER: 'wc' },
    'WEBCAPTURE_UPSTREAM_PROXY_USER and WEBCAPTURE_UPSTREAM_PROXY_PASSWORD must be set together',
  ],
  [{ WEBCAPTURE_NO_PROXY: 'corp.example' }, 'WEBCAPTURE_NO_PROXY needs WEBCAPTURE_UPSTREAM_PROXY'],
  [{ ...url('http://proxy'), WEBCAPTURE_NO_PROXY: '*' }, 'WEBCAPTURE_NO_PROXY must not be "*"'],
  [{ ...url('http://proxy'), WEBCAPTURE_NO_PROXY: '*.corp.example' }, 'not "*.corp.example"'],
  [{ ...url('http://proxy'), WEBCAPTURE_NO_PROXY: 'corp.example:80' }, 'not "corp.example:80"'],
  [{ ...url('http://proxy'), WEBCAPTURE_NO_PROXY: '10.0.0.1/8' }, 'has bits set beyond its prefix'],
  [
    { ...url('http://proxy'), WEBCAPTURE_UPSTREAM_PROXY_USER: 'a:b', WEBCAPTURE_UPSTREAM_PROXY_PASSWORD: 'c' },
    'WEBCAPTURE_UPSTREAM_PROXY_USER must not contain a colon',
  ],
  [
    {
      ...url('socks5://proxy'),
      WEBCAPTURE_UPSTREAM_PROXY_USER: 'a',
      WEBCAPTURE_UPSTREAM_PROXY_PASSWORD: 'x'.repeat(256),
    },
    'WEBCAPTURE_UPSTREAM_PROXY_PASSWORD must have at most 255 bytes',
  ],
])('%j stops the start', (environment, message) => {
  expect(() => read(environment)).toThrow(message);
});

test('no message contains credentials of the URL', () => {
  expect(() => read(url('http://wc:hidden@proxy'))).not.toThrow('hidden');
});

describe('noProxy', () => {
  const noProxy = read({
    ...url('http://proxy'),
    WEBCAPTURE_NO_PROXY: 'Corp.example, .inner.example, 10.0.0.0/8,fd00::1',
  })?.noProxy;
  test.each([
    ['corp.example', true],
    ['www.corp.example', true],
    ['notcorp.example', false],
    ['inner.example', true],
    ['a.inner.example', true],
    ['10.1.2.3', true],
    ['11.0.0.1', false],
    ['fd00::1', true],
    ['fd00::2', false],
  ])('%s: %s', (host, expected) => {
    expect(noProxy && isWithoutProxy(noProxy, host)).toBe(expected);
  });
});
