import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildAppAlone } from './app-alone.ts';
import { presetKey, startTestFront, type TestFront } from './test-front.ts';

const page = 'https://app.example.com';
const stranger = 'https://app.example.com.evil.example';

/** Headers that decide about access of pages, or that depend on the page. */
const corsHeaders = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));

/** Sends what a browser sends before a request that needs permission. */
const preflight = (url: string, origin: string, method = 'POST') =>
  fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    },
  });

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_CORS_ORIGINS: `http://localhost:5173,${page}` });
});
afterAll(() => front[Symbol.asyncDispose]());

const post = (origin: string, headers: Record<string, string> = {}, body: object = { url: 'https://example.com/' }) =>
  front.call('/capture', {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

describe('a page of a configured origin', () => {
  test('gets an answer to its preflight, without a key', async () => {
    const response = await preflight(`${front.url}/capture`, page);
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(corsHeaders(response)).toEqual({
      'access-control-allow-origin': page,
      'access-control-allow-methods': 'POST, GET, HEAD',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, If-Modified-Since, If-None-Match, Traceparent, Tracestate',
      'access-control-expose-headers': expect.stringContaining('Retry-After') as string,
      'access-control-max-age': '7200',
      vary: 'Origin',
    });
    expect(response.headers.get('x-ratelimit-limit')).toBeNull();
  });

  test('gets answers to preflights with the methods of each path', async () => {
    for (const [path, method] of [
      ['/captures/x', 'DELETE'],
      ['/captures/x/refresh', 'POST'],
      ['/keys', 'GET'],
      ['/usage', 'GET'],
      ['/status', 'GET'],
    ] as const) {
      const response = await preflight(front.url + path, page, method);
      expect(response.status, path).toBe(204);
      expect(response.headers.get('access-control-allow-methods')?.split(', '), path).toContain(method);
    }
  });

  test('reads a capture and its headers', async () => {
    const response = await post(page);
    expect(response.status).toBe(200);
    expect(corsHeaders(response)).toEqual({
      'access-control-allow-origin': page,
      'access-control-expose-headers':
        'Allow, Content-Disposition, ETag, Idempotent-Replayed, Retry-After, WWW-Authenticate, X-Capture-UUID, X-Capture-UUIDs, X-Page-Count, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id',
      vary: 'Origin',
    });
  });

  test('reads the steps of a capture as events', async () => {
    const response = await post(page, { accept: 'text/event-stream' });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(await response.text()).toContain('event: result');
    expect(response.headers.get('access-control-allow-origin')).toBe(page);
  });

  test('reads a thumbnail, which caches do not show to pages of other origins or with other keys', async () => {
    const picture = await sharp({ create: { width: 1280, height: 720, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
    front.renderer.fileOf = () => picture;
    const { data } = (await (await post(page)).json()) as { data: { uuid: string } };
    const response = await front.call(`/captures/${data.uuid}/thumbnail`, { headers: { origin: page } });
    expect(response.status).toBe(200);
    expect(corsHeaders(response)).toMatchObject({ 'access-control-allow-origin': page, vary: 'Origin, Authorization' });
  });

  test.each([
    ['no key', 401, { authorization: '' }, { url: 'https://example.com/' }],
    ['an invalid body', 400, {}, { url: 'https://example.com/', format: 'gif' }],
    ['a blocked address', 400, {}, { url: 'http://169.254.169.254/' }],
  ])('reads the error after a request with %s', async (_name, status, headers, body) => {
    const request = { origin: page, authorization: `Bearer ${presetKey}`, 'content-type': 'application/json' };
    const response = await fetch(`${front.url}/capture`, {
      method: 'POST',
      headers: { ...request, ...headers },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(status);
    expect(corsHeaders(response)).toMatchObject({ 'access-control-allow-origin': page, vary: 'Origin' });
  });

  test('reads when it may retry after a 429', async () => {
    await using app = await buildAppAlone({
      corsOrigins: [page],
      clientLimits: { failures: { capacity: 1, perSecond: 0.01 }, penaltyMs: 0 },
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const ask = () => fetch(`${url}/usage`, { headers: { origin: page, authorization: 'Bearer unknown' } });
    expect((await ask()).status).toBe(401);
    const response = await ask();
    expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(response.headers.get('access-control-allow-origin')).toBe(page);
    expect((await preflight(`${url}/usage`, page, 'GET')).status).toBe(204);
  });
});

describe('nothing is opened', () => {
  test.each([stranger, 'http://app.example.com', 'https://app.example.com:8443', 'null'])(
    'for a page of %s',
    async (origin) => {
      const asked = await preflight(`${front.url}/capture`, origin);
      expect([asked.status, corsHeaders(asked)]).toEqual([405, { vary: 'Origin' }]);
      const sent = await post(origin);
      expect([sent.status, corsHeaders(sent)]).toEqual([200, { vary: 'Origin' }]);
    },
  );

  test('for the dashboard, operators, agents and unknown paths', async () => {
    const signIn = { signInCode: 'a-code-of-the-tests', presetKey: 'a-key' };
    await using app = await buildAppAlone({ corsOrigins: [page], adminToken: 'an-admin-token', ...signIn });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    for (const [path, method, status] of [
      ['/dashboard/', 'GET', 405],
      ['/dashboard/sign-in-code', 'POST', 405],
      ['/admin/accounts', 'POST', 405],
      ['/mcp', 'POST', 405],
      ['/docs', 'GET', 405],
      ['/nothing', 'GET', 404],
    ] as const) {
      const response = await preflight(url + path, page, method);
      expect([response.status, corsHeaders(response)], path).toEqual([status, {}]);
      expect(await response.json(), path).toMatchObject({ success: false, error: { code: 'NOT_FOUND' } });
    }
    const send = (path: string, body: string) =>
      fetch(url + path, { method: 'POST', headers: { origin: page, 'content-type': 'application/json' }, body });
    const code = await send('/dashboard/sign-in-code', '{"code": "a-code-of-the-tests"}');
    expect([code.status, corsHeaders(code)]).toEqual([200, {}]);
    expect(corsHeaders(await send('/admin/accounts', '{}'))).toEqual({});
    expect(corsHeaders(await send('/mcp', '{}'))).toEqual({});
  });

  test('for an OPTIONS request that is no preflight', async () => {
    const response = await fetch(`${front.url}/capture`, { method: 'OPTIONS', headers: { origin: page } });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD']);
    expect(await response.json()).toMatchObject({ success: false, error: { code: 'NOT_FOUND' } });
  });

  test('for a session: no response allows credentials', async () => {
    const responses = [
      await preflight(`${front.url}/capture`, page),
      await post(page, { cookie: 'session=1' }),
      await fetch(`${front.url}/usage`, { headers: { origin: page, cookie: `key=${presetKey}` } }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([204, 200, 401]);
    for (const response of responses) expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  });
});

test('public responses are the same as without the setting', async () => {
  await using app = await buildAppAlone();
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const headers = { origin: page };
  for (const path of ['/openapi.json', '/devices', '/llms.txt', '/docs']) {
    const usual = corsHeaders(await fetch(url + path, { headers }));
    expect(corsHeaders(await fetch(front.url + path, { headers })), path).toEqual(usual);
  }
  for (const path of ['/status', '/status/history.json']) {
    const response = await fetch(front.url + path, { headers });
    expect(corsHeaders(response), path).toEqual({ 'access-control-allow-origin': '*' });
  }
});

test('with "*" every origin has access, still without credentials', async () => {
  await using app = await buildAppAlone({ corsOrigins: ['*'] });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const asked = await preflight(`${url}/capture`, stranger);
  expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  const sent = await fetch(`${url}/usage`, { headers: { origin: 'null' } });
  expect([sent.status, corsHeaders(sent)]).toMatchObject([401, { 'access-control-allow-origin': '*' }]);
  expect(sent.headers.get('access-control-allow-credentials')).toBeNull();
});

test('without the setting there are no headers, and OPTIONS is a 405', async () => {
  await using app = await buildAppAlone();
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const asked = await preflight(`${url}/capture`, page);
  expect([asked.status, asked.headers.get('allow'), corsHeaders(asked)]).toEqual([405, 'POST, GET, HEAD', {}]);
  const sent = await fetch(`${url}/usage`, { headers: { origin: page } });
  expect([sent.status, corsHeaders(sent)]).toEqual([401, {}]);
});
