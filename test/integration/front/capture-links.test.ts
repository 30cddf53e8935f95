import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NewSigningSecret } from '@webcapture/shared/api/signing-secret.ts';
import { type NewKeyView, scopes } from '@webcapture/shared/api/api-key.ts';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { KeyRecord } from '../../../services/front/auth/keys.ts';
import { Picture } from '../../harness/picture.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf, openAccount, send } from './accounts.ts';
import { bytesOf, type Envelope, presetKey, read, startTestFront, type TestFront } from './test-front.ts';

let testFront: TestFront;
let other: string;
let clock = 0;
const logged: string[] = [];
beforeAll(async () => {
  // Each request comes from an address of its own: so many wrong links are more than one address may send.
  const environment = { WEBCAPTURE_ADMIN_TOKEN: adminToken, WEBCAPTURE_TRUST_PROXY: 'true' };
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  testFront = await startTestFront(environment, { now: () => Date.now() + clock, log });
  other = await testFront.addFront();
});
afterAll(() => testFront[Symbol.asyncDispose]());
beforeEach(() => {
  clock = 0;
  testFront.renderer.behaviour = (job, renderer) => renderer.complete(job);
});

type Options = readonly (readonly [string, string])[];

/** Who can sign: the id of an API key, and its signing secret. */
interface Signer {
  readonly keyId: string;
  readonly secret: string;
}

const expiresIn = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);
const encode = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);

/** As docs/capture-links.md says, in words of its own. */
function sign({ keyId, secret }: Signer, options: Options, expires = expiresIn(600)): URLSearchParams {
  const parameters = [...options, ['key', keyId] as const, ['expires', expires] as const];
  const pairs = parameters.map(([name, value]) => `${encode(name)}\0${encode(value)}`).toSorted();
  const text = `GET /capture?${pairs.map((pair) => pair.replace('\0', '=')).join('&')}`;
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  return new URLSearchParams([...parameters.map(([name, value]) => [name, value]), ['signature', signature]]);
}

const newAddress = () => [10, ...randomBytes(3)].join('.');

function open(query: URLSearchParams | string, init: RequestInit = {}, front = testFront.url): Promise<Response> {
  const headers = { 'x-forwarded-for': newAddress(), ...(init.headers as Record<string, string> | undefined) };
  return fetch(`${front}/capture?${query.toString()}`, { signal: AbortSignal.timeout(40_000), ...init, headers });
}

/** Opens a link; the status, and the code of an error. */
async function outcome(
  query: URLSearchParams | string,
  front?: string,
): Promise<readonly [number, string | undefined]> {
  const response = await open(query, {}, front);
  const bytes = await bytesOf(response);
  const body = response.ok ? null : (JSON.parse(bytes.toString()) as Envelope);
  return [response.status, body?.error?.code];
}

/** A page that no other test asks for. */
const newUrl = () => `https://example.com/${randomUUID()}`;
const page = (): Options => [['url', newUrl()]];

/** A key of an account of its own, and its first signing secret. */
async function newSigner(changes: Partial<KeyRecord> = {}): Promise<Signer & { readonly key: string }> {
  const id = randomUUID();
  const key = await testFront.makeKey({ id, ...changes });
  return { key, ...(await rotate(id, key)) };
}

const rotate = async (id: string, key: string, body: object = {}) =>
  dataOf<NewSigningSecret>(await send(`${testFront.url}/keys/${id}/signing-secret`, key, { body }));

const renders = () => testFront.renderer.jobs.length;

function lastJob(): CaptureJob {
  const job = testFront.renderer.jobs.at(-1);
  if (job === undefined) throw new Error('nothing was rendered');
  return job;
}

let signer: Awaited<ReturnType<typeof newSigner>>;
beforeAll(async () => {
  signer = await newSigner();
});

describe('a signed link', () => {
  test('is answered with the picture, which caches may keep', async () => {
    const response = await open(sign(signer, page()));
    expect(response.status).toBe(200);
    expect(await bytesOf(response)).toEqual(testFront.renderer.fileOf(lastJob()));
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('x-capture-uuid')).toBe(lastJob().uuid);
    expect(response.headers.get('etag')).toMatch(/^"[^"]+"$/);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    // The link is over before the capture is.
    const [, seconds = ''] = /^public, max-age=(\d+)$/.exec(response.headers.get('cache-control') ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThan(590);
    expect(Number(seconds)).toBeLessThanOrEqual(600);
  });

  test('is right in any order and any encoding', async () => {
    const options = [...page(), ['waitFor.text', "it's (a) *b*! ~ü€😀 +&=%"], ['hide', '.b'], ['hide', '.a']] as const;
    const query = sign(signer, options);
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(lastJob().options).toMatchObject({ waitFor: { text: options[1]?.[1] } });
    const before = renders();
    const strict = [...query].toReversed().map(([name, value]) => `${encode(name)}=${encode(value)}`);
    const everything = (text: string) =>
      [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    const escaped = [...query].map(([name, value]) => `${everything(name)}=${everything(value)}`);
    expect(strict.join('&')).toContain('%20');
    expect(query.toString()).toContain('+');
    expect(await outcome(escaped.join('&'))).toEqual([200, undefined]);
    expect(await outcome(strict.join('&'), other)).toEqual([200, undefined]);
    expect(renders()).toBe(before);
  });

  test('repeats the items of a list in any order, which changes nothing; as JSON, the list has the order that was signed', async () => {
    const [one, two] = [['click', '#a'] as const, ['click', '#b'] as const];
    const query = sign(signer, [...page(), two, one]);
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(lastJob().options.click).toEqual(['#a', '#b']);
    const ordered = sign(signer, [...page(), ['click', '["#b", "#a"]']]);
    expect(await outcome(ordered)).toEqual([200, undefined]);
    expect(lastJob().options.click).toEqual(['#b', '#a']);
    ordered.delete('click');
    for (const item of ['#a', '#b']) ordered.append('click', item);
    expect(await outcome(ordered)).toEqual([401, 'UNAUTHORIZED']);
  });

  test('carries options of every type, in place of a body', async () => {
    const options: Options = [
      ['url', newUrl()],
      ['viewport.width', '800'],
      ['viewport.deviceScaleFactor', '1.5'],
      ['block.ads', 'true'],
      ['isFullPage', 'true'],
      ['hide', '.a'],
      ['hide', '[data-ad]'],
      ['remove', '["#b", ".c"]'],
      ['click', '[data-more]'],
      ['failOn.status', '4xx'],
      ['failOn.status', '503'],
      ['waitFor', '{"selector": "h1", "timeout": 100}'],
    ];
    expect(await outcome(sign(signer, options))).toEqual([200, undefined]);
    expect(lastJob().options).toMatchObject({
      viewport: { width: 800, height: 720, deviceScaleFactor: 1.5 },
      block: { ads: true, trackers: false },
      isFullPage: true,
      hide: ['[data-ad]', '.a'],
      remove: ['#b', '.c'],
      click: ['[data-more]'],
      failOn: { status: ['4xx', 503] },
      waitFor: { selector: 'h1', timeout: 100, state: 'visible' },
    });
    const pdf: Options = [
      ...page(),
      ['format', 'pdf'],
      ['pdf.margin.top', '5'],
      ['pdf.margin.left', '1cm'],
      ['pdf.paper', 'A5'],
    ];
    const response = await open(sign(signer, pdf));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/pdf']);
    expect(lastJob().options.pdf).toMatchObject({ paper: 'A5', margin: { top: 5, left: 10, right: 10 } });
    await bytesOf(response);
  });

  test('shows the page as on a device, which its own viewport overrides', async () => {
    const options: Options = [...page(), ['device', 'iPhone 15'], ['viewport.height', '500']];
    expect(await outcome(sign(signer, options))).toEqual([200, undefined]);
    expect(lastJob().options).toMatchObject({ isMobile: true, viewport: { width: 393, height: 500 } });
  });

  test('costs a token once: whoever opens it again gets the same picture, on any front', async () => {
    const { account, first } = await openAccount(testFront.url, { tokenQuota: 1 });
    const own = await rotate(first.id, first.key);
    const query = sign(own, page());
    const before = renders();
    const answers = await Promise.all([open(query), open(query), open(query, {}, other)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [one, two, three] = await Promise.all(answers.map(bytesOf));
    expect([two, three]).toEqual([one, one]);
    expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    expect(renders() - before).toBe(1);
    expect(dataOf(await send(`${testFront.url}/usage`, first.key))).toMatchObject({ tokensUsed: 1 });

    // The account has none left for another page.
    expect(await outcome(sign(own, page()))).toEqual([402, 'QUOTA_EXCEEDED']);
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(account.tokenQuota).toBe(1);
  });

  test('meets what POST /capture has captured', async () => {
    const url = newUrl();
    const made = await read(await testFront.capture({ url, responseCache: { enabled: true } }, { key: signer.key }));
    const response = await open(sign(signer, [['url', url]]));
    expect(response.headers.get('x-capture-uuid')).toBe(made.body.data?.['uuid']);
    await bytesOf(response);
  });

  test('is answered 304 for the copy that the client has, by ranges, and by its headers alone', async () => {
    const query = sign(signer, page());
    const first = await open(query);
    const bytes = await bytesOf(first);
    const etag = first.headers.get('etag') ?? '';
    const again = await open(query, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/);
    const range = await open(query, { headers: { range: 'bytes=2-5' } });
    expect([range.status, await bytesOf(range)]).toEqual([206, bytes.subarray(2, 6)]);
    const head = await open(query, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      etag,
      String(bytes.length),
      '',
    ]);
  });

  test('may be kept no longer than the capture may be old', async () => {
    const response = await open(sign(signer, [...page(), ['responseCache.ttl', '60']]));
    await bytesOf(response);
    const [, seconds = ''] = /max-age=(\d+)$/.exec(response.headers.get('cache-control') ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThan(40);
    expect(Number(seconds)).toBeLessThanOrEqual(60);
  });

  test('of a page that fails has the usual error, which no cache keeps', async () => {
    let rendered = 0;
    testFront.renderer.behaviour = (job, renderer) => {
      rendered += 1;
      return renderer.fail(job, 'NAVIGATION_FAILED', 'The page is not there.');
    };
    const link = sign(signer, page());
    const response = await open(link);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await read(response)).toMatchObject({
      status: 500,
      body: { error: { code: 'NAVIGATION_FAILED' }, data: null },
    });
    // Whoever loads it again does not spend what the account may capture.
    expect(await outcome(link)).toEqual([500, 'NAVIGATION_FAILED']);
    expect(rendered).toBe(1);
    expect(await outcome(sign(signer, page()))).toEqual([500, 'NAVIGATION_FAILED']);
    expect(rendered).toBe(2);
  });
});

describe('nobody can change a link without the secret', () => {
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
    ['a key that nobody has', (query) => query.set('key', randomUUID())],
    ['a key that can be none', (query) => query.set('key', '*.>')],
  ];

  test('nor tell from the answer whether there is such a page', async () => {
    const options: Options = [...page(), ['viewport.width', '800'], ['hide', '.a'], ['hide', '.b']];
    expect(await outcome(sign(signer, options))).toEqual([200, undefined]);
    const before = renders();
    for (const [name, change] of changes) {
      const query = sign(signer, options);
      change(query);
      const answer = await open(query);
      expect([name, answer.status, answer.headers.get('x-capture-uuid')]).toEqual([name, 401, null]);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect((await read(answer)).body.error?.code).toBe('UNAUTHORIZED');
    }
    expect(renders()).toBe(before);
  });

  test('nor with the secret of another key, or with the key itself', async () => {
    const second = await newSigner();
    expect(await outcome(sign({ keyId: signer.keyId, secret: second.secret }, page()))).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(sign({ keyId: signer.keyId, secret: signer.key }, page()))).toEqual([401, 'UNAUTHORIZED']);
    const query = sign(signer, page());
    query.delete('signature');
    const answer = await open(query, { headers: { authorization: `Bearer ${signer.key}` } });
    expect(answer.status).toBe(401);
    await answer.text();
  });

  test('and a wrong one is told before anything of the request is looked at', async () => {
    expect(
      await outcome(new URLSearchParams({ key: signer.keyId, expires: expiresIn(9), signature: 'x', html: 'x' })),
    ).toEqual([401, 'UNAUTHORIZED']);
  });
});

describe('a link ends', () => {
  test('at its time, also for a picture that is in the cache', async () => {
    const query = sign(signer, page(), expiresIn(60));
    expect(await outcome(query)).toEqual([200, undefined]);
    clock = 61_000;
    const late = await read(await open(query));
    expect([late.status, late.body.error?.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(late.body.error?.message).toMatch(/^This link expired at \d{4}-/);
  });

  test('without counting as a wrong one against whoever opens it', async () => {
    const headers = { 'x-forwarded-for': newAddress() };
    const [late, wrong] = [sign(signer, page(), expiresIn(-10)), sign({ ...signer, secret: 'x' }, page())];
    const statuses = async (query: URLSearchParams, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => open(query, { headers })));
      await Promise.all(answers.map(bytesOf));
      return new Set(answers.map(({ status }) => status));
    };
    expect(await statuses(late, 100)).toEqual(new Set([401]));
    expect(await statuses(wrong, 100)).toEqual(new Set([401, 429]));
    // One that is right is none of them either.
    expect(await statuses(sign(signer, page()), 3)).toEqual(new Set([200]));
  });

  test.each(['', '1e9', '-1', 'tomorrow', '1795348800000'])('at a time that is one: not %j', async (expires) => {
    const answer = await read(await open(sign(signer, page(), expires)));
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.body.error?.message).toMatch(/^expires must be Unix time in whole seconds/);
  });

  test('within 366 days', async () => {
    const year = 366 * 86_400;
    expect(await outcome(sign(signer, page(), expiresIn(year)))).toEqual([200, undefined]);
    expect(await outcome(sign(signer, page(), expiresIn(year + 60)))).toEqual([400, 'VALIDATION_ERROR']);
  });

  test('when its key is revoked, within a second on every front', async () => {
    const own = await newSigner();
    const query = sign(own, page());
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(await outcome(query, other)).toEqual([200, undefined]);
    expect((await send(`${testFront.url}/keys/${own.keyId}`, own.key, { method: 'DELETE' })).status).toBe(200);
    expect(await outcome(query)).toEqual([401, 'API_KEY_REVOKED']);
    await until(
      'the other front to have heard of it',
      async () => (await outcome(query, other))[1] === 'API_KEY_REVOKED',
      {
        deadlineMs: 1000,
      },
    );
  });

  test('when its key expires, or its account is suspended', async () => {
    const short = await newSigner({ expiresAt: Date.now() + 60_000 });
    const query = sign(short, page());
    expect(await outcome(query)).toEqual([200, undefined]);
    clock = 61_000;
    expect(await outcome(query)).toEqual([401, 'API_KEY_EXPIRED']);
    clock = 0;
    const { account, first } = await openAccount(testFront.url);
    const own = sign(await rotate(first.id, first.key), page());
    expect(await outcome(own)).toEqual([200, undefined]);
    await send(`${testFront.url}/admin/accounts/${account.id}`, adminToken, {
      method: 'PATCH',
      body: { suspended: true },
    });
    expect(await outcome(own)).toEqual([401, 'UNAUTHORIZED']);
  });

  test('with the rotation of its key: the new key has a secret of its own', async () => {
    const own = await newSigner();
    const query = sign(own, page());
    const path = `${testFront.url}/keys/${own.keyId}/rotate`;
    const next = dataOf<NewKeyView>(await send(path, own.key, { body: { graceSeconds: 60 } }));
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(await outcome(sign({ keyId: next.id, secret: own.secret }, page()))).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(sign(await rotate(next.id, next.key), page()))).toEqual([200, undefined]);
    clock = 61_000;
    expect(await outcome(query)).toEqual([401, 'API_KEY_EXPIRED']);
  });

  test('needs a key that may capture', async () => {
    const reader = await newSigner({ scopes: ['read', 'manage'] });
    const answer = await read(await open(sign(reader, page())));
    expect([answer.status, answer.body.error]).toEqual([
      401,
      { code: 'UNAUTHORIZED', message: expect.stringContaining('"capture"') as string },
    ]);
  });
});

describe('a link is bound by the limits of its account', () => {
  test('such as its rate', async () => {
    const { first } = await openAccount(testFront.url, { ratePerMinute: 1, burst: 1 });
    const own = await rotate(first.id, first.key);
    expect(await outcome(sign(own, page()))).toEqual([200, undefined]);
    const refused = await open(sign(own, page()));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(await read(refused)).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMIT_EXCEEDED' } } });
  });
});

describe('a link cannot have', () => {
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
    ['auth.password', 'x', 'auth cannot be in a link'],
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
    ['format', 'gif', 'format must be one of png, jpeg, webp, pdf, not "gif"'],
    ['pdf.paper', 'A4', 'pdf needs format pdf'],
  ])('%s=%s', async (name, value, message) => {
    const answer = await read(await open(sign(signer, [...page(), [name, value]])));
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.body.error?.message).toContain(message);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('an address that the egress policy refuses', async () => {
    expect(await outcome(sign(signer, [['url', 'http://169.254.169.254/']]))).toEqual([400, 'URL_BLOCKED']);
  });
});

describe('an error', () => {
  const img = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8';

  test('is a small picture for whoever asks for pictures', async () => {
    const late = sign(signer, page(), expiresIn(-10));
    const response = await open(late, { headers: { accept: img } });
    expect([response.status, response.headers.get('x-error-code')]).toEqual([401, 'UNAUTHORIZED']);
    expect([response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([
      'image/png',
      'no-store',
    ]);
    const bytes = await bytesOf(response);
    expect(response.headers.get('content-length')).toBe(String(bytes.length));
    const { width, height } = await Picture.of(bytes);
    expect(width).toBeGreaterThan(100);
    expect(height).toBeLessThan(50);

    const wrong = sign(signer, page());
    wrong.set('url', newUrl());
    const second = await open(wrong, { headers: { accept: 'image/*' } });
    expect(second.status).toBe(401);
    expect(await bytesOf(second)).not.toEqual(bytes);

    testFront.renderer.behaviour = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'The page is not there.');
    const failed = await open(sign(signer, page()), { headers: { accept: 'image/*' } });
    expect([failed.status, failed.headers.get('x-error-code')]).toEqual([500, 'CAPTURE_FAILED']);
    expect((await Picture.of(await bytesOf(failed))).height).toBe(height);
  });

  test.each(['text/html,application/xhtml+xml,image/avif,image/webp,*/*;q=0.8', 'image/png, application/json', '*/*'])(
    'is JSON for whoever accepts %s',
    async (accept) => {
      const response = await open(sign(signer, page(), expiresIn(-10)), { headers: { accept } });
      expect(await read(response)).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
    },
  );

  test('of other routes is JSON for everybody', async () => {
    const response = await fetch(`${testFront.url}/usage`, { headers: { accept: img } });
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    await response.text();
  });
});

describe('POST /keys/{id}/signing-secret', () => {
  const path = (id: string) => `${testFront.url}/keys/${id}/signing-secret`;

  test('makes a secret that is shown once, and that links of the one before outlive for a while', async () => {
    const id = randomUUID();
    const key = await testFront.makeKey({ id });
    const made = await send(path(id), key, { method: 'POST' });
    const first = dataOf<NewSigningSecret>(made);
    expect(first).toEqual({
      keyId: id,
      secret: expect.stringMatching(/^wcs_[\w-]{43}$/) as string,
      previousUntil: null,
    });
    expect(made.headers.get('cache-control')).toBe('no-store');
    const old = sign(first, page());
    expect(await outcome(old)).toEqual([200, undefined]);
    expect(await outcome(old, other)).toEqual([200, undefined]);

    const before = Date.now();
    const second = await rotate(id, key);
    expect(second.secret).not.toBe(first.secret);
    const until = Date.parse(second.previousUntil ?? '');
    expect(until).toBeGreaterThanOrEqual(before + 86_400_000);
    expect(until).toBeLessThanOrEqual(Date.now() + 86_400_000);
    for (const query of [old, sign(first, page()), sign(second, page())])
      expect(await outcome(query)).toEqual([200, undefined]);

    const third = await rotate(id, key, { graceSeconds: 60 });
    expect(await outcome(old)).toEqual([200, undefined]);
    clock = 61_000;
    expect(await outcome(old)).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(sign(second, page()))).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(sign(third, page()))).toEqual([200, undefined]);
  });

  test('ends the old one at once without a grace, within a second on every front', async () => {
    const own = await newSigner();
    const query = sign(own, page());
    for (const front of [testFront.url, other]) expect(await outcome(query, front)).toEqual([200, undefined]);
    const next = await rotate(own.keyId, own.key, { graceSeconds: 0 });
    expect(next.previousUntil).toBeNull();
    expect(await outcome(query)).toEqual([401, 'UNAUTHORIZED']);
    await until('the other front to have heard of it', async () => (await outcome(query, other))[0] === 401, {
      deadlineMs: 1000,
    });
    expect(await outcome(sign(next, page()), other)).toEqual([200, undefined]);
  });

  test('needs a key of the same account that can do as much, and lives as long', async () => {
    const account = `account-${randomUUID()}`;
    const id = randomUUID();
    await testFront.makeKey({ id, account });
    const asked = async (changes: Partial<KeyRecord>) => {
      const { status, body } = await send(path(id), await testFront.makeKey({ account, ...changes }), {
        method: 'POST',
      });
      return [status, body.error?.code];
    };
    expect(await asked({})).toEqual([200, undefined]);
    expect(await asked({ account: 'another' })).toEqual([404, 'NOT_FOUND']);
    expect(await asked({ scopes: ['capture', 'read'] })).toEqual([403, 'FORBIDDEN']);
    expect(await asked({ scopes: ['manage', 'read'] })).toEqual([403, 'FORBIDDEN']);
    expect(await asked({ expiresAt: Date.now() + 60_000 })).toEqual([403, 'FORBIDDEN']);
    expect((await send(path(id), null, { method: 'POST' })).status).toBe(401);
    expect((await send(path('nothing'), presetKey, { method: 'POST' })).status).toBe(404);
  });

  test('ends with the key that made it, when that is revoked with all that it has made', async () => {
    const { first } = await openAccount(testFront.url);
    const makeKey = async (name: string) =>
      dataOf<NewKeyView>(await send(`${testFront.url}/keys`, first.key, { body: { name, scopes } }));
    const [stolen, mine] = [await makeKey('stolen'), await makeKey('mine')];
    const theirs = await rotate(first.id, stolen.key);
    const own = await rotate(mine.id, mine.key);
    const queries = [sign(theirs, page()), sign(own, page())] as const;
    for (const query of queries) expect(await outcome(query)).toEqual([200, undefined]);
    // The new one has the stolen one among its former ones.
    await rotate(first.id, first.key);
    expect(await outcome(queries[0])).toEqual([200, undefined]);
    const revoked = await send(`${testFront.url}/keys/${stolen.id}?cascade=true`, first.key, { method: 'DELETE' });
    expect(revoked.status).toBe(200);
    expect(await outcome(queries[0])).toEqual([401, 'UNAUTHORIZED']);
    expect(await outcome(queries[1])).toEqual([200, undefined]);
    expect(await outcome(sign(await rotate(first.id, first.key), page()))).toEqual([200, undefined]);
  });

  test('is refused for a key that has ended', async () => {
    const account = `account-${randomUUID()}`;
    const [caller, revoked, expired] = [await testFront.makeKey({ account }), randomUUID(), randomUUID()];
    await testFront.makeKey({ id: revoked, account, revokedAt: 1 });
    await testFront.makeKey({ id: expired, account, expiresAt: 1 });
    for (const id of [revoked, expired]) {
      const { status, body } = await send(path(id), caller, { method: 'POST' });
      expect([status, body.error?.code]).toEqual([409, 'CONFLICT']);
    }
  });

  test.each([
    [{ graceSeconds: -1 }, 400],
    [{ graceSeconds: 2_592_000 }, 200],
    [{ graceSeconds: 2_592_001 }, 400],
    [{ graceSeconds: '60' }, 400],
    [{ grace: 60 }, 400],
  ])('answers %j with %i', async (body, status) => {
    expect((await send(path(signer.keyId), signer.key, { body })).status).toBe(status);
  });
});

test('no log line tells of a query, a signature or a secret, and no metric of more than the route', async () => {
  const query = sign(signer, [['url', `https://example.com/?token=${randomUUID()}`]]);
  expect(await outcome(query)).toEqual([200, undefined]);
  testFront.renderer.behaviour = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'The page is not there.');
  expect(await outcome(sign(signer, [['url', `https://example.com/?token=${randomUUID()}`]]))).toEqual([
    500,
    'CAPTURE_FAILED',
  ]);
  await until('the requests to be logged', () => logged.join('').includes('CAPTURE_FAILED'));
  expect(logged.join('')).toContain('"route":"/capture"');
  expect(logged.join('')).not.toMatch(/signature|wcs_|token=|expires=|key=/);
  const metrics = await testFront.metrics.metrics();
  const routes = new Set([...metrics.matchAll(/route="([^"]*)"/g)].map(([, route]) => route));
  expect([...routes].filter((route) => route?.startsWith('/capture'))).toEqual(['/capture']);
  expect(metrics).not.toMatch(/signature|expires=/);
});
