import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../../harness/api.ts';
import { useSite } from '../../harness/use.ts';
import { apiOf, presetKey, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let api: Api;
beforeAll(async () => {
  front = await startTestFront();
  api = apiOf(front);
});
afterAll(() => front[Symbol.asyncDispose]());
const site = useSite();

const url = 'https://example.com/';

interface Case {
  readonly body: unknown;
  /** Required content of the message. */
  readonly says: RegExp;
  readonly code?: string;
}

const sources: Record<string, Case> = {
  'nothing at all': { body: {}, says: /url.*html/s },
  'url and html': { body: { url, html: '<p>' }, says: /url.*html/s },
  'url that is no string': { body: { url: 42 }, says: /url/ },
  'url of null': { body: { url: null }, says: /url/ },
  'empty url': { body: { url: '' }, says: /url/ },
  'relative url': { body: { url: '/page' }, says: /url/ },
  'url without a scheme': { body: { url: 'example.com' }, says: /url.*http/s },
  'url of words': { body: { url: 'not a url' }, says: /url/ },
  'url without a host': { body: { url: 'http://' }, says: /url/ },
  'ftp url': { body: { url: 'ftp://example.com/' }, says: /url.*http/s },
  'javascript url': { body: { url: 'javascript:alert(1)' }, says: /url.*http/s },
  'data url': { body: { url: 'data:text/html,hello' }, says: /url.*http/s },
  'file url': { body: { url: 'file:///etc/passwd' }, says: /url.*http/s },
  'view-source url': { body: { url: `view-source:${url}` }, says: /url.*http/s },
  'about url': { body: { url: 'about:blank' }, says: /url.*http/s },
  'html that is no string': { body: { html: ['<p>'] }, says: /html/ },
  'empty html': { body: { html: '' }, says: /html/ },
  'html that is neither raw nor base64': { body: { html: 'just some words' }, says: /html.*base64/s },
  'html that is base64 of a wrong length': { body: { html: 'YWJjZ' }, says: /html.*base64/s },
  'html that is base64 of something but UTF-8': {
    body: { html: Buffer.from([0x3c, 0xff, 0xfe]).toString('base64') },
    says: /html.*UTF-8/s,
  },
};

const types: Record<string, Case> = {
  'responseType of another value': { body: { url, responseType: 'xml' }, says: /responseType.*json.*file/s },
  'format of another value': { body: { url, format: 'gif' }, says: /format.*png.*jpeg.*webp.*pdf/s },
  'format in capitals': { body: { url, format: 'PNG' }, says: /format/ },
  'format jpg': { body: { url, format: 'jpg' }, says: /format.*jpeg/s },
  'viewport that is no object': { body: { url, viewport: '1280x720' }, says: /viewport/ },
  'viewport that is a list': { body: { url, viewport: [1280, 720] }, says: /viewport/ },
  'viewport of null': { body: { url, viewport: null }, says: /viewport/ },
  'width as a string': { body: { url, viewport: { width: '1280' } }, says: /viewport.*width/s },
  'isFullPage as a string': { body: { url, isFullPage: 'true' }, says: /isFullPage/ },
  'isFullPage as a number': { body: { url, isFullPage: 1 }, says: /isFullPage/ },
  'quality as a string': { body: { url, quality: '80' }, says: /quality/ },
  'quality of null': { body: { url, quality: null }, says: /quality/ },
  'colorScheme of another value': { body: { url, colorScheme: 'sepia' }, says: /colorScheme.*light.*dark/s },
  'timeout as a string': { body: { url, timeout: '30000' }, says: /timeout/ },
  'waitUntil of another value': { body: { url, waitUntil: 'networkidle0' }, says: /waitUntil.*networkidle/s },
  'imageTimeout as a string': { body: { url, imageTimeout: '3' }, says: /imageTimeout/ },
  'delay as a boolean': { body: { url, delay: true }, says: /delay/ },
  'responseCache that is no object': { body: { url, responseCache: true }, says: /responseCache/ },
  'responseCache.enabled as a string': {
    body: { url, responseCache: { enabled: 'no' } },
    says: /responseCache.*enabled/s,
  },
  'cdnTtl as a string': { body: { url, cdnTtl: '3600' }, says: /cdnTtl/ },
  'persistence that is no object': { body: { url, persistence: true }, says: /persistence/ },
  'background as a string': { body: { url, background: 'yes' }, says: /background/ },
  'region of another value': { body: { url, region: 'mars' }, says: /region.*us-east/s },
  'antiBot as a string': { body: { url, antiBot: 'on' }, says: /antiBot/ },
  'block that is a list': { body: { url, block: ['ads'] }, says: /block/ },
  'block.ads as a number': { body: { url, block: { ads: 1 } }, says: /block.*ads/s },
  'pdf paper of another value': { body: { url, format: 'pdf', pdf: { paper: 'A9' } }, says: /pdf.*paper/s },
  'pdf margin without a unit that there is': {
    body: { url, format: 'pdf', pdf: { margin: '3em' } },
    says: /pdf.*margin/s,
  },
  'pdf margin with a negative length': {
    body: { url, format: 'pdf', pdf: { margin: { top: '-1cm' } } },
    says: /pdf.*margin/s,
  },
};

const combinations: Record<string, Case> = {
  'pdf options with another format': { body: { url, format: 'png', pdf: { landscape: true } }, says: /pdf/ },
  'pdf options without a format': { body: { url, pdf: {} }, says: /pdf/ },
  'a file in the background': {
    body: { url, responseType: 'file', background: true },
    says: /background|responseType/,
  },
  'a webhook without background': {
    body: { url, webhook: { url: 'https://example.com/' } },
    says: /webhook|background/,
  },
};

const unknown: Record<string, Case> = {
  'an unknown field': { body: { url, colour: 'red' }, says: /colour/ },
  'a field in other capitals': { body: { url, isFullpage: true }, says: /isFullpage.*isFullPage/s },
  'a field with a slip': { body: { url, qualty: 80 }, says: /qualty.*quality/s },
  'a field in British English': { body: { url, colourScheme: 'dark' }, says: /colourScheme.*colorScheme/s },
  'a field in snake case': { body: { url, wait_until: 'load' }, says: /wait_until.*waitUntil/s },
  'an unknown field of viewport': { body: { url, viewport: { widht: 100 } }, says: /viewport.*widht.*width/s },
  'an unknown field of block': { body: { url, block: { cookies: true } }, says: /block.*cookies/s },
  'an unknown field of responseCache': { body: { url, responseCache: { TTL: 60 } }, says: /responseCache.*TTL.*ttl/s },
  'an unknown field of persistence': { body: { url, persistence: { on: true } }, says: /persistence.*on/s },
  'an unknown field of pdf': { body: { url, format: 'pdf', pdf: { size: 'A4' } }, says: /pdf.*size/s },
  'an unknown side of a margin': {
    body: { url, format: 'pdf', pdf: { margin: { upper: 1 } } },
    says: /margin.*upper/s,
  },
  'an unknown field of webhook': { body: { url, webhook: { url, secret: 'x' } }, says: /webhook.*secret/s },
};

describe.for([
  ['source', sources],
  ['type or value', types],
  ['combination', combinations],
  ['unknown field', unknown],
] as const)('requests are refused for their %s', ([, cases]) => {
  test.for(Object.entries(cases))('%s', async ([, { body, says, code = 'VALIDATION_ERROR' }]) => {
    const refusal = await api.refused(body);
    expect(refusal).toMatchObject({ status: 400, code });
    expect(refusal.message).toMatch(says);
    expect(refusal.message).not.toMatch(/ajv|typebox|fastify|schema|at .*\.ts/i);
  });
});

test('an Idempotency-Key with a space is refused', async () => {
  const refusal = await api.refused({ url }, { headers: { 'idempotency-key': 'not once' } });
  expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
  expect(refusal.message).toMatch(/idempotency-key/i);
});

describe('bodies that are not a request are refused', () => {
  const bodies: Record<string, { raw: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> }> = {
    nothing: { raw: '' },
    'half a body': { raw: '{"url": "http://example.com/"' },
    'something after the body': { raw: '{"url": "http://example.com/"} x' },
    'a list': { raw: '[]' },
    'a string': { raw: '"http://example.com/"' },
    null: { raw: 'null' },
    'a number': { raw: '1' },
    'single quotes': { raw: "{'url': 'http://example.com/'}" },
    'a prototype': { raw: '{"url": "http://example.com/", "__proto__": {"isFullPage": true}}' },
    'bytes that are not UTF-8': { raw: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]) },
    'plain text': { raw: '{"url": "http://example.com/"}', headers: { 'content-type': 'text/plain' } },
    'a form': { raw: 'url=http%3A%2F%2Fexample.com', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    'another type': { raw: '<url/>', headers: { 'content-type': 'application/xml' } },
    'a content type that is none': { raw: '{}', headers: { 'content-type': 'nonsense' } },
  };

  test.for(Object.entries(bodies))('%s', async ([, options]) => {
    const refusal = await api.refused(undefined, options);
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refusal.message.length).toBeGreaterThan(10);
  });

  test('the refusal of a wrong content type names the right one', async () => {
    const refusal = await api.refused(undefined, { raw: 'x', headers: { 'content-type': 'text/plain' } });
    expect(refusal.message).toContain('application/json');
  });

  test('a content type with a charset is accepted', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=UTF-8' };
    const refusal = await api.refused({ url, quality: 0 }, { headers });
    expect(refusal.message).toContain('quality');
  });
});

describe('the API key', () => {
  test.for([
    ['no key', null, {}],
    ['a wrong key', 'wc_live_00000000000000000000000000000000000000', {}],
    ['an empty key', '', {}],
    ['another scheme', null, { authorization: 'Basic dGVzdDp0ZXN0' }],
    ['a scheme alone', null, { authorization: 'Bearer' }],
    ['a key without its scheme', null, { authorization: presetKey }],
    ['two keys', null, { authorization: `Bearer ${presetKey} ${presetKey}` }],
    ['a key of a megabyte’s tenth', 'x'.repeat(8000), {}],
    ['a key that looks like a subject', '>', {}],
    ['a key that looks like a path', '../account.demo', {}],
  ] as const)('%s is refused with 401', async ([, key, headers]) => {
    const answer = await api.capture({ url }, { key, headers });
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ success: false, error: { code: 'UNAUTHORIZED' }, data: null });
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  test('the scheme is case-insensitive', async () => {
    const headers = { authorization: `bEARER ${presetKey}` };
    expect(await api.captured({ url }, { key: null, headers })).toMatchObject({ status: 'completed' });
  });

  test('the body is validated before the key', async () => {
    const refusal = await api.refused({ url, quality: 0 }, { key: 'wrong' });
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
  });

  test('the key is checked before the region', async () => {
    const refusal = await api.refused({ url, region: 'asia-east' }, { key: 'wrong' });
    expect(refusal.status).toBe(401);
  });
});

test('one refusal reports all mistakes', async () => {
  const refusal = await api.refused({ url, quality: 0, delay: -1, colour: 'red' });
  for (const field of ['quality', 'delay', 'colour']) expect(refusal.message).toContain(field);
});

test.for(['127.0.0.1', 'localhost', 'LOCALHOST', 'localhost.', 'anything.localhost', '[::1]'])(
  'a front without allowed internal addresses blocks %s',
  async (host) => {
    const visit = site().visit('/color');
    const url = visit.url.replace('127.0.0.1', host);
    const refusal = await api.refused({ url });
    expect(refusal).toMatchObject({ status: 400, code: 'URL_BLOCKED' });
    expect(visit.requests).toEqual([]);
  },
);
