import { describe, expect, test } from 'vitest';
import { Picture } from '../../../harness/picture.ts';
import { dataOf, openAccount, send } from '../accounts.ts';
import { bytesOf, read } from '../test-front.ts';
import { encode, expiresIn, newUrl, type Options, page, sign, useLinks } from './use-links.ts';

const { testFront, other, signer, open, outcome, rotate, lastJob, renders } = useLinks();

describe('a signed link', () => {
  test('is answered with the picture, which caches may keep', async () => {
    const response = await open(sign(signer(), page()));
    expect(response.status).toBe(200);
    expect(await bytesOf(response)).toEqual(testFront().renderer.fileOf(lastJob()));
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('x-capture-uuid')).toBe(lastJob().uuid);
    expect(response.headers.get('etag')).toMatch(/^"[^"]+"$/);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    // The link expires before the capture does.
    const [, seconds = ''] = /^public, max-age=(\d+)$/.exec(response.headers.get('cache-control') ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThan(590);
    expect(Number(seconds)).toBeLessThanOrEqual(600);
  });

  test('is valid with its parameters in any order and any encoding', async () => {
    const options = [...page(), ['waitFor.text', "it's (a) *b*! ~ü€😀 +&=%"], ['hide', '.b'], ['hide', '.a']] as const;
    const query = sign(signer(), options);
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
    expect(await outcome(strict.join('&'), other())).toEqual([200, undefined]);
    expect(renders()).toBe(before);
  });

  test('lists repeated items in any order with the same result, while a JSON list keeps the signed order', async () => {
    const [one, two] = [['click', '#a'] as const, ['click', '#b'] as const];
    const query = sign(signer(), [...page(), two, one]);
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(lastJob().options.click).toEqual(['#a', '#b']);
    const ordered = sign(signer(), [...page(), ['click', '["#b", "#a"]']]);
    expect(await outcome(ordered)).toEqual([200, undefined]);
    expect(lastJob().options.click).toEqual(['#b', '#a']);
    ordered.delete('click');
    for (const item of ['#a', '#b']) ordered.append('click', item);
    expect(await outcome(ordered)).toEqual([401, 'UNAUTHORIZED']);
  });

  test('contains options of every type, in place of a body', async () => {
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
    expect(await outcome(sign(signer(), options))).toEqual([200, undefined]);
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
    const response = await open(sign(signer(), pdf));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/pdf']);
    expect(lastJob().options.pdf).toMatchObject({ paper: 'A5', margin: { top: 5, left: 10, right: 10 } });
    await bytesOf(response);
  });

  test('can name a device, and its own viewport overrides that of the device', async () => {
    const options: Options = [...page(), ['device', 'iPhone 15'], ['viewport.height', '500']];
    expect(await outcome(sign(signer(), options))).toEqual([200, undefined]);
    expect(lastJob().options).toMatchObject({ isMobile: true, viewport: { width: 393, height: 500 } });
  });

  test('costs one token: every later visit, on any front, gets the same picture', async () => {
    const { account, first } = await openAccount(testFront().url, { tokenQuota: 1 });
    const own = await rotate(first.id, first.key);
    const query = sign(own, page());
    const before = renders();
    const answers = await Promise.all([open(query), open(query), open(query, {}, other())]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [one, two, three] = await Promise.all(answers.map(bytesOf));
    expect([two, three]).toEqual([one, one]);
    expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    expect(renders() - before).toBe(1);
    expect(dataOf(await send(`${testFront().url}/usage`, first.key))).toMatchObject({ tokensUsed: 1 });

    // The account has no tokens left for another page.
    expect(await outcome(sign(own, page()))).toEqual([402, 'QUOTA_EXCEEDED']);
    expect(await outcome(query)).toEqual([200, undefined]);
    expect(account.tokenQuota).toBe(1);
  });

  test('is answered from the cache with a capture of POST /capture', async () => {
    const url = newUrl();
    const made = await read(
      await testFront().capture({ url, responseCache: { enabled: true } }, { key: signer().key }),
    );
    const response = await open(sign(signer(), [['url', url]]));
    expect(response.headers.get('x-capture-uuid')).toBe(made.body.data?.['uuid']);
    await bytesOf(response);
  });

  test('supports If-None-Match, ranges and HEAD', async () => {
    const query = sign(signer(), page());
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

  test('is cached no longer than the ttl of its response cache', async () => {
    const response = await open(sign(signer(), [...page(), ['responseCache.ttl', '60']]));
    await bytesOf(response);
    const [, seconds = ''] = /max-age=(\d+)$/.exec(response.headers.get('cache-control') ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThan(40);
    expect(Number(seconds)).toBeLessThanOrEqual(60);
  });

  test('for a page that fails returns the usual error, which no cache keeps', async () => {
    let rendered = 0;
    testFront().renderer.behavior = (job, renderer) => {
      rendered += 1;
      return renderer.fail(job, 'NAVIGATION_FAILED', 'The page is not there.');
    };
    const link = sign(signer(), page());
    const response = await open(link);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await read(response)).toMatchObject({
      status: 500,
      body: { error: { code: 'NAVIGATION_FAILED' }, data: null },
    });
    // Loading the link again does not use up what the account may capture.
    expect(await outcome(link)).toEqual([500, 'NAVIGATION_FAILED']);
    expect(rendered).toBe(1);
    expect(await outcome(sign(signer(), page()))).toEqual([500, 'NAVIGATION_FAILED']);
    expect(rendered).toBe(2);
  });
});

describe('an error', () => {
  const img = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8';

  test('is a small picture if the client accepts pictures only', async () => {
    const late = sign(signer(), page(), expiresIn(-10));
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

    const wrong = sign(signer(), page());
    wrong.set('url', newUrl());
    const second = await open(wrong, { headers: { accept: 'image/*' } });
    expect(second.status).toBe(401);
    expect(await bytesOf(second)).not.toEqual(bytes);

    testFront().renderer.behavior = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'The page is not there.');
    const failed = await open(sign(signer(), page()), { headers: { accept: 'image/*' } });
    expect([failed.status, failed.headers.get('x-error-code')]).toEqual([500, 'CAPTURE_FAILED']);
    expect((await Picture.of(await bytesOf(failed))).height).toBe(height);
  });

  test.each(['text/html,application/xhtml+xml,image/avif,image/webp,*/*;q=0.8', 'image/png, application/json', '*/*'])(
    'is JSON for a client that accepts %s',
    async (accept) => {
      const response = await open(sign(signer(), page(), expiresIn(-10)), { headers: { accept } });
      expect(await read(response)).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
    },
  );

  test('of other routes is always JSON', async () => {
    const response = await fetch(`${testFront().url}/usage`, { headers: { accept: img } });
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    await response.text();
  });
});
