import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { NewKeyView } from '@webcapture/shared/api/api-key.ts';
import { until } from '../../../harness/until.ts';
import { adminToken, dataOf, openAccount, send } from '../accounts.ts';
import { bytesOf, read } from '../test-front.ts';
import { expiresIn, newAddress, newUrl, type Options, page, sign, useLinks } from './use-links.ts';

const { testFront, other, signer, clock, logged, open, outcome, rotate, newSigner, renders } = useLinks();

describe('a link cannot be changed without the secret', () => {
  const changes: readonly (readonly [string, (query: URLSearchParams) => void])[] = [
    ['another url', (query) => query.set('url', newUrl())],
    ['another value', (query) => query.set('viewport.width', '801')],
    ['an option more', (query) => query.append('delay', '1')],
    ['an option less', (query) => query.delete('viewport.width')],
    ['an item more', (query) => query.append('hide', '.c')],
    ['an item less', (query) => query.delete('hide', '.b')],
    ['a later end', (query) => query.set('expires', expiresIn(6000))],
    ['another signature', (query) => query.set('signature', 'f'.repeat(64))],
    ['the signature in capitals', (query) => query.set('signature', (query.get('signature') ?? '').toUpperCase())],
    ['a shorter signature', (query) => query.set('signature', (query.get('signature') ?? '').slice(0, -1))],
    ['an empty signature', (query) => query.set('signature', '')],
    ['no signature', (query) => query.delete('signature')],
    ['two signatures', (query) => query.append('signature', query.get('signature') ?? '')],
    ['no key', (query) => query.delete('key')],
    ['two keys', (query) => query.append('key', query.get('key') ?? '')],
    ['no end', (query) => query.delete('expires')],
    ['an unknown key', (query) => query.set('key', randomUUID())],
    ['a key that can be none', (query) => query.set('key', '*.>')],
  ];

  test('and every changed link gets the same answer, whether the page is cached or not', async () => {
    const options: Options = [...page(), ['viewport.width', '800'], ['hide', '.a'], ['hide', '.b']];
    expect(await outcome(sign(signer(), options))).toEqual([200, undefined]);
    const before = renders();
    for (const [name, change] of changes) {
      const query = sign(signer(), options);
      change(query);
      const answer = await open(query);
      expect([name, answer.status, answer.headers.get('x-capture-uuid')]).toEqual([name, 401, null]);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect((await read(answer)).body.error?.code).toBe('UNAUTHORIZED');
    }
    expect(renders()).toBe(before);
  });

  test('neither with the secret of another key, nor with the API key itself', async () => {
    const second = await newSigner();
    expect(await outcome(sign({ keyId: signer().keyId, secret: second.secret }, page()))).toEqual([
      401,
      'UNAUTHORIZED',
    ]);
    expect(await outcome(sign({ keyId: signer().keyId, secret: signer().key }, page()))).toEqual([401, 'UNAUTHORIZED']);
    const query = sign(signer(), page());
    query.delete('signature');
    const answer = await open(query, { headers: { authorization: `Bearer ${signer().key}` } });
    expect(answer.status).toBe(401);
    await answer.text();
  });

  test('and a wrong signature is reported before any other error of the request', async () => {
    expect(
      await outcome(new URLSearchParams({ key: signer().keyId, expires: expiresIn(9), signature: 'x', html: 'x' })),
    ).toEqual([401, 'UNAUTHORIZED']);
  });
});

describe('a link expires', () => {
  test('at its expiry time, even if the picture is in the cache', async () => {
    const query = sign(signer(), page(), expiresIn(60));
    expect(await outcome(query)).toEqual([200, undefined]);
    clock.aheadMs = 61_000;
    const late = await read(await open(query));
    expect([late.status, late.body.error?.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(late.body.error?.message).toMatch(/^This link expired at \d{4}-/);
  });

  test('and opening it does not count as a failed authentication of the client', async () => {
    const headers = { 'x-forwarded-for': newAddress() };
    const [late, wrong] = [sign(signer(), page(), expiresIn(-10)), sign({ ...signer(), secret: 'x' }, page())];
    const statuses = async (query: URLSearchParams, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => open(query, { headers })));
      await Promise.all(answers.map(bytesOf));
      return new Set(answers.map(({ status }) => status));
    };
    expect(await statuses(late, 100)).toEqual(new Set([401]));
    expect(await statuses(wrong, 100)).toEqual(new Set([401, 429]));
    // A valid link does not count as a failure either.
    expect(await statuses(sign(signer(), page()), 3)).toEqual(new Set([200]));
  });

  test.each(['', '1e9', '-1', 'tomorrow', '1795348800000'])('at a Unix time in seconds, not %j', async (expires) => {
    const answer = await read(await open(sign(signer(), page(), expires)));
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.body.error?.message).toMatch(/^expires must be Unix time in whole seconds/);
  });

  test('within 366 days', async () => {
    const year = 366 * 86_400;
    expect(await outcome(sign(signer(), page(), expiresIn(year)))).toEqual([200, undefined]);
    expect(await outcome(sign(signer(), page(), expiresIn(year + 60)))).toEqual([400, 'VALIDATION_ERROR']);
  });

  test('when its key is revoked, within a second on every front', async () => {
    const own = await newSigner();
    const query = sign(own, page());
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(await outcome(query, other())).toEqual([200, undefined]);
    expect((await send(`${testFront().url}/keys/${own.keyId}`, own.key, { method: 'DELETE' })).status).toBe(200);
    expect(await outcome(query)).toEqual([401, 'API_KEY_REVOKED']);
    await until(
      'the other front to have heard of it',
      async () => (await outcome(query, other()))[1] === 'API_KEY_REVOKED',
      {
        deadlineMs: 1000,
      },
    );
  });

  test('when its key expires, or its account is suspended', async () => {
    const short = await newSigner({ expiresAt: Date.now() + 60_000 });
    const query = sign(short, page());
    expect(await outcome(query)).toEqual([200, undefined]);
    clock.aheadMs = 61_000;
    expect(await outcome(query)).toEqual([401, 'API_KEY_EXPIRED']);
    clock.aheadMs = 0;
    const { account, first } = await openAccount(testFront().url);
    const own = sign(await rotate(first.id, first.key), page());
    expect(await outcome(own)).toEqual([200, undefined]);
    await send(`${testFront().url}/admin/accounts/${account.id}`, adminToken, {
      method: 'PATCH',
      body: { suspended: true },
    });
    expect(await outcome(own)).toEqual([401, 'UNAUTHORIZED']);
  });

  test('with its rotated key, and the new key has its own secret', async () => {
    const own = await newSigner();
    const query = sign(own, page());
    const path = `${testFront().url}/keys/${own.keyId}/rotate`;
    const next = dataOf<NewKeyView>(await send(path, own.key, { body: { graceSeconds: 60 } }));
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(await outcome(sign({ keyId: next.id, secret: own.secret }, page()))).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(sign(await rotate(next.id, next.key), page()))).toEqual([200, undefined]);
    clock.aheadMs = 61_000;
    expect(await outcome(query)).toEqual([401, 'API_KEY_EXPIRED']);
  });

  test('a link needs a key with the capture scope', async () => {
    const reader = await newSigner({ scopes: ['read', 'manage'] });
    const answer = await read(await open(sign(reader, page())));
    expect([answer.status, answer.body.error]).toEqual([
      401,
      { code: 'UNAUTHORIZED', message: expect.stringContaining('"capture"') as string },
    ]);
  });
});

describe('a link is subject to the limits of its account', () => {
  test('such as the rate limit', async () => {
    const { first } = await openAccount(testFront().url, { ratePerMinute: 1, burst: 1 });
    const own = await rotate(first.id, first.key);
    expect(await outcome(sign(own, page()))).toEqual([200, undefined]);
    const refused = await open(sign(own, page()));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(await read(refused)).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMIT_EXCEEDED' } } });
  });
});

describe('a link cannot contain', () => {
  test.each<readonly [string, string, string]>([
    ['responseType', 'json', 'responseType cannot be in a link'],
    ['background', 'true', 'background cannot be in a link'],
    ['webhook.url', 'https://example.com/', 'webhook cannot be in a link'],
    ['persistence.enabled', 'true', 'persistence cannot be in a link'],
    ['extract', 'text', 'extract cannot be in a link'],
    ['html', '<p>', 'html cannot be in a link'],
    ...['headers', 'headersFor', 'cookies', 'auth', 'css', 'script'].map(
      (name) => [name, 'x', `${name} cannot be in a link: a link is public, and would show it`] as const,
    ),
    ['session', 'x', 'session cannot be in a link: a link is public, and would show what is behind the login'],
    ['auth.password', 'x', 'auth cannot be in a link'],
    ['pdf.encryption.userPassword', 'x', 'pdf.encryption cannot be in a link: a link is public, and would show it'],
    ['pdf.encryption', '{"userPassword":"x"}', 'pdf.encryption cannot be in a link'],
    ['pdf', '{"encryption":{"userPassword":"x"}}', 'pdf.encryption cannot be in a link'],
    [
      'steps',
      '[{"click":"#a"},{"type":{"selector":"#b","text":"x"}}]',
      'steps.type cannot be in a link: a link is public, and would show it',
    ],
    ['steps', '{"select":{"selector":"#b","value":"x"}}', 'steps.select cannot be in a link'],
    ['responseCache.enabled', 'false', 'responseCache.enabled cannot be false in a link'],
    ['responseCache', '{"enabled":false}', 'responseCache.enabled cannot be false in a link'],
    ['viewport.width', '800px', 'viewport.width must be an integer from 16 to 7680, not "800px"'],
    ['viewport.widht', '800', 'viewport.widht is not a field of the request; did you mean viewport.width?'],
    ['block.ads', 'yes', 'block.ads must be true or false, not "yes"'],
    ['__proto__.x', '1', 'is not a field of the request'],
    ['constructor', '1', 'constructor is not a field of the request'],
    ['url', 'https://example.com/', 'url must be given once'],
    ['hide', '..', 'hide.0'],
    ['clip', '[1]', 'clip must be an object'],
    ['format', 'gif', 'format must be one of png, jpeg, webp, pdf, none, not "gif"'],
    ['format', 'none', 'responseType file needs a picture or a PDF'],
    ['extractFields', '{"title":"h1"}', 'extractFields cannot be in a link: a link is answered with the file'],
    ['pdf.paper', 'A4', 'pdf needs format pdf'],
  ])('%s=%s', async (name, value, message) => {
    const answer = await read(await open(sign(signer(), [...page(), [name, value]])));
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.body.error?.message).toContain(message);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('a login in the url', async () => {
    const login = newUrl().replace('//', '//user:hunter2@');
    const { status, body } = await read(await open(sign(signer(), [['url', login]])));
    expect([status, body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.error?.message).toMatch(/^url must have no user name or password: send them as auth/);
    expect(logged.join('')).not.toContain('hunter2');
  });

  test('an address that the egress policy blocks', async () => {
    expect(await outcome(sign(signer(), [['url', 'http://169.254.169.254/']]))).toEqual([400, 'URL_BLOCKED']);
  });
});

test('no log line contains a query, a signature or a secret, and metrics contain only the route', async () => {
  const query = sign(signer(), [['url', `https://example.com/?token=${randomUUID()}`]]);
  expect(await outcome(query)).toEqual([200, undefined]);
  testFront().renderer.behavior = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'The page is not there.');
  expect(await outcome(sign(signer(), [['url', `https://example.com/?token=${randomUUID()}`]]))).toEqual([
    500,
    'CAPTURE_FAILED',
  ]);
  await until('the requests to be logged', () => logged.join('').includes('CAPTURE_FAILED'));
  expect(logged.join('')).toContain('"route":"/capture"');
  expect(logged.join('')).not.toMatch(/signature|wcs_|token=|expires=|key=/);
  const metrics = await testFront().metrics.metrics();
  const routes = new Set([...metrics.matchAll(/route="([^"]*)"/g)].map(([, route]) => route));
  expect([...routes].filter((route) => route?.startsWith('/capture'))).toEqual(['/capture']);
  expect(metrics).not.toMatch(/signature|expires=/);
});
