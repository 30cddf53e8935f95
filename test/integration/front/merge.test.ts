import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import { makePdf } from '../../harness/make-pdf.ts';
import { readFacts } from '../../harness/pdf-facts.ts';
import { plainReport } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { adminToken, openAccount } from './accounts.ts';
import { bytesOf, read, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let pdf: Buffer;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken });
  pdf = await makePdf(['one', 'two']);
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => {
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
  front.renderer.fileOf = () => pdf;
  front.renderer.reportOf = () => plainReport;
  front.renderer.jobs.length = 0;
});

const url = 'https://example.com/';
const addressOf = ({ source }: CaptureJob) => (source.kind === 'url' ? source.url : source.kind);
const rendered = () => front.renderer.jobs.map(addressOf);

const merge = (documents: unknown, options: object = {}, init: { key?: string; signal?: AbortSignal } = {}) =>
  front.call('/pdf/merge', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ documents, ...options }),
    ...init,
  });

async function refusal(...args: Parameters<typeof merge>) {
  const { status, body, headers } = await read(await merge(...args));
  return { status, ...body.error, uuid: headers.get('x-capture-uuid') };
}

async function captured(body: object, key?: string): Promise<string> {
  const answer = await front.capture({ url, ...body }, key === undefined ? {} : { key });
  await answer.text();
  return answer.headers.get('x-capture-uuid') ?? '';
}

const usedTokens = async () => (await read(await front.call('/usage'))).body.data?.['tokensUsed'] as number;

test('captures and requests are merged in order, and requests are charged and listed as captures', async () => {
  front.renderer.reportOf = (job) => ({ ...plainReport, title: addressOf(job) === `${url}b` ? ' Page B ' : '' });
  const capture = await captured({ url: `${url}a`, format: 'pdf' });
  const tokens = await usedTokens();
  const documents = [
    { request: { url: `${url}b` } },
    { capture },
    { request: { html: '<p>c</p>', format: 'pdf' } },
    { capture, title: 'Own title' },
  ];
  const response = await merge(documents, { pageLabels: 'perDocument', encryption: { userPassword: 'reader' } });
  expect(response.status).toBe(200);
  const bytes = await bytesOf(response);
  const headers = Object.fromEntries(response.headers);
  expect(headers).toMatchObject({
    'content-type': 'application/pdf',
    'content-length': String(bytes.length),
    'content-disposition': 'inline; filename="merged.pdf"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-page-count': '8',
    'x-ratelimit-limit': expect.stringMatching(/^\d+$/) as unknown,
  });
  const { texts, labels, bookmarks } = await readFacts(bytes, 'reader');
  expect(texts).toEqual(Array(4).fill(['one', 'two']).flat());
  expect(labels?.slice(-3)).toEqual(['3-2', '4-1', '4-2']);
  expect(bookmarks.filter((_, index) => index % 3 === 0)).toEqual([
    { title: 'Page B', page: 0 },
    { title: `${url}a`, page: 2 },
    { title: 'Document 3', page: 4 },
    { title: 'Own title', page: 6 },
  ]);

  const uuids = (headers['x-capture-uuids'] ?? '').split(', ');
  expect(uuids[1]).toBe(capture);
  expect(uuids[3]).toBe(capture);
  expect(await usedTokens()).toBe(tokens + 2);
  const { body } = await read(await front.call(`/captures/${uuids[2]}`));
  expect(body.data).toMatchObject({ status: 'completed', metadata: { format: 'pdf' } });
  const { values = [] } = (await front.metrics.getSingleMetric('webcapture_front_merges_total')?.get()) ?? {};
  expect(values.find(({ labels: { result } }) => result === 'merged')?.value).toBe(1);
});

describe('a body is refused before anything is captured, with the path of the field:', () => {
  const request = { url };
  test.each<[string, unknown, object]>([
    ['documents must be a list, not empty', [], {}],
    ['documents must be a list, not empty, of at most 50', Array(51).fill({ request }), {}],
    ['documents.1 needs exactly one of documents.1.capture and documents.1.request', [{ request }, {}], {}],
    ['documents.0 needs exactly one of', [{ request, capture: randomUUIDv7() }], {}],
    ['documents.0.titel is not a field of the request; did you mean documents.0.title?', [{ request, titel: 't' }], {}],
    ['documents.0.request.timeout must be an integer', [{ request: { url, timeout: 1 } }], {}],
    ['documents.0.request.format must be pdf, not png', [{ request: { url, format: 'png' } }], {}],
    ['documents.0.request.responseType must be json', [{ request: { url, responseType: 'file' } }], {}],
    ['documents.0.request.background must be false', [{ request: { url, background: true } }], {}],
    ['documents.0.request.webhook must be left out', [{ request: { url, webhook: { url } } }], {}],
    ['documents.0.request.persistence.enabled must be', [{ request: { url, persistence: { enabled: true } } }], {}],
    [
      'documents.0.request.pdf.attachments must be left out',
      [{ request: { url, pdf: { attachments: [{ name: 'a', content: 'a' }] } } }],
      {},
    ],
    [
      'documents.0.request.pdf.encryption must be left out',
      [{ request: { url, pdf: { encryption: { ownerPassword: 'o' } } } }],
      {},
    ],
    ['documents.1.request: one of url and html is required', [{ request }, { request: {} }], {}],
    ['documents.1.request: device must be a name', [{ request }, { request: { url, device: 'x' } }], {}],
    ['pageLabels must be one of continuous, perDocument', [{ request }], { pageLabels: 'roman' }],
    ['metadata.title must have no control', [{ request }], { metadata: { title: 'a\nb' } }],
    ['encryption needs encryption.userPassword or', [{ request }], { encryption: {} }],
  ])('%s', async (message, documents, options) => {
    expect(await refusal(documents, options)).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining(message) as unknown,
    });
    expect(rendered()).toEqual([]);
  });

  test('an address that the egress policy refuses', async () => {
    expect(await refusal([{ request }, { request: { url: 'http://127.0.0.1/' } }])).toMatchObject({
      code: 'URL_BLOCKED',
      message: expect.stringMatching(/^documents\.1\.request: /) as unknown,
    });
    expect(rendered()).toEqual([]);
  });

  test('a secret is not disclosed', async () => {
    const { message } = await refusal([{ request: { url, auth: { username: 'u', password: 4711 } } }]);
    expect(message).toContain('documents.0.request.auth.password must be a string');
    expect(message).not.toContain('4711');
  });

  test.each<[string, () => Promise<string>, number, RegExp]>([
    ['unknown', async () => randomUUIDv7(), 404, /no capture of that uuid/],
    [
      'of another account',
      async () => captured({ format: 'pdf' }, await front.makeKey()),
      404,
      /no capture of that uuid/,
    ],
    ['a picture', () => captured({ format: 'png' }), 400, /its format is png, not pdf/],
    [
      'failed',
      () => {
        front.renderer.behavior = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'no');
        return captured({ format: 'pdf' });
      },
      400,
      /its status is failed/,
    ],
    [
      'deleted',
      async () => {
        const uuid = await captured({ format: 'pdf' });
        await front.call(`/captures/${uuid}`, { method: 'DELETE' });
        return uuid;
      },
      400,
      /its status is deleted/,
    ],
    [
      'encrypted',
      () => captured({ format: 'pdf', pdf: { encryption: { ownerPassword: 'o' } } }),
      400,
      /it is encrypted/,
    ],
    [
      'without its file',
      async () => {
        const uuid = await captured({ format: 'pdf' });
        const { body } = await read(await front.call(`/captures/${uuid}`));
        await front.renderer.store.remove(String(body.data?.['fileUrl']).split('/').at(-1) ?? '');
        return uuid;
      },
      400,
      /its file no longer exists/,
    ],
  ])('a capture that is %s', async (_name, prepare, status, message) => {
    const capture = await prepare();
    front.renderer.jobs.length = 0;
    const answer = await refusal([{ request }, { capture }]);
    expect(answer).toMatchObject({ status, message: expect.stringMatching(message) as unknown });
    expect(answer.message).toMatch(/^documents\.1\.capture: /);
    expect(rendered()).toEqual([]);
  });
});

/** Makes the renderer complete jobs when the returned function is called. Jobs of `bad` fail immediately. */
function holdJobs(bad = ''): () => void {
  const released = Promise.withResolvers<void>();
  front.renderer.behavior = async (job, renderer) => {
    if (addressOf(job) === bad) return renderer.fail(job, 'NAVIGATION_FAILED', 'no such page');
    await released.promise;
    return renderer.complete(job);
  };
  return released.resolve;
}

const six = Array.from({ length: 6 }, (_, index) => ({ request: { url: `${url}${index}` } }));

test('the first failure of a request is the answer, and requests that wait are not captured', async () => {
  const { first } = await openAccount(front.url, { maxInFlight: 2 });
  const release = holdJobs(`${url}1`);
  const answer = await refusal(six, {}, { key: first.key });
  expect(answer).toMatchObject({ status: 500, code: 'NAVIGATION_FAILED', message: 'documents.1: no such page' });
  release();
  const { body } = await read(await front.call(`/captures/${answer.uuid}`, { key: first.key }));
  expect(body.data).toMatchObject({ status: 'failed', metadata: { url: `${url}1` } });
  await captured({ url: `${url}later` });
  expect(rendered().toSorted()).toEqual([`${url}0`, `${url}1`, `${url}later`]);
});

test('requests that wait are not captured after the client has disconnected', async () => {
  /** Returns the number of captures that ended because their client had disconnected. */
  const leftBehind = async () => {
    const { values = [] } = (await front.metrics.getSingleMetric('webcapture_front_captures_total')?.get()) ?? {};
    const left = values.filter(({ labels: { outcome } }) => outcome === 'client_gone');
    return left.reduce((sum, { value }) => sum + value, 0);
  };
  const { first } = await openAccount(front.url, { maxInFlight: 2 });
  const before = await leftBehind();
  const release = holdJobs();
  const client = new AbortController();
  const answer = merge(six, {}, { key: first.key, signal: client.signal });
  await until('the renderer to be busy', async () => rendered().length === 2);
  client.abort();
  await expect(answer).rejects.toThrow('aborted');
  await until('the front to end both captures', async () => (await leftBehind()) === before + 2);
  release();
  await captured({ url: `${url}later` });
  expect(rendered().toSorted()).toEqual([`${url}0`, `${url}1`, `${url}later`]);
});

test('requests wait for the rate and the slots of the account', async () => {
  const { first } = await openAccount(front.url, { ratePerMinute: 60, burst: 2, maxInFlight: 1 });
  const response = await merge(six.slice(0, 3), {}, { key: first.key });
  expect([response.status, response.headers.get('x-page-count')]).toEqual([200, '6']);
});

test('a document that is not a PDF is named, and the front merges others', async () => {
  front.renderer.fileOf = (job) => (addressOf(job).endsWith('1') ? Buffer.from('%PDF-1.7\nhello') : pdf);
  expect(await refusal(six.slice(0, 3))).toMatchObject({
    status: 500,
    code: 'PAGE_TOO_LARGE',
    message: expect.stringMatching(/^documents\.1 is too large, or too unusual/) as unknown,
  });
  expect((await merge(six.slice(2, 3))).status).toBe(200);
});

test('documents of more than 2000 pages are refused', async () => {
  front.renderer.behavior = async (job, renderer) => {
    const upload = await renderer.upload(job);
    const outcome = { kind: 'completed', upload, report: plainReport, ageMs: 1, pages: 1001 } as const;
    renderer.tell(job, outcome);
    await renderer.publish(job, outcome);
  };
  expect(await refusal(six.slice(0, 2))).toMatchObject({
    code: 'PAGE_TOO_LARGE',
    message: expect.stringContaining('more than 2000 pages') as unknown,
  });
});

test('a key without the scope capture is refused', async () => {
  expect(await refusal(six, {}, { key: await front.makeKey({ scopes: ['read'] }) })).toMatchObject({
    status: 401,
    code: 'UNAUTHORIZED',
  });
});
