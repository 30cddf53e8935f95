import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Validator } from '@seriousme/openapi-schema-validator';
import { allMetrics, openLabels } from '../harness/all-metrics.ts';
import { AnswerCheck } from '../harness/openapi.ts';
import { Picture } from '../harness/picture.ts';
import { withoutAnswerMs } from '../harness/records.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

describe('POST /capture', () => {
  test('returns every field of shape A and shape B with correct values', async () => {
    const url = site().url('/text', { title: 'True words' });
    const before = Date.now();
    const answer = await fleet().api.capture({ url, format: 'jpeg', viewport: { width: 640, height: 480 } });
    const after = Date.now();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const { data } = answer.body ?? {};
    if (!data) throw new Error('the answer has no data');
    expect(answer.body).toEqual({ success: true, error: null, data });

    const file = await fleet().api.request(data.fileUrl);
    const bytes = await file.arrayBuffer();
    expect(data).toMatchObject({
      fromCache: false,
      tokenCost: 1,
      fileSizeBytes: bytes.byteLength,
      status: 'completed',
      region: 'us-east',
    });
    expect(data.uuid).toMatch(uuidV7);
    expect(data.fileUrl).toMatch(new RegExp(`^${fleet().url}/files/${data.uuid}-[0-9a-f]{32}\\.jpeg$`));
    expect(Number.isInteger(data.processingTimeMs)).toBe(true);
    expect(data.processingTimeMs).toBeGreaterThan(0);
    expect(data.processingTimeMs).toBeLessThanOrEqual(Math.ceil(answer.ms));
    expect(data.metadata).toMatchObject({
      url,
      format: 'jpeg',
      mimeType: 'image/jpeg',
      fileSizeBytes: bytes.byteLength,
      width: 640,
      height: 480,
      viewport: { width: 640, height: 480, deviceScaleFactor: 1 },
      fullPage: false,
    });
    const { capturedAt, createdAt, expiresAt } = data.metadata;
    expect(capturedAt).toMatch(isoTime);
    expect(expiresAt).toMatch(isoTime);
    expect(Date.parse(capturedAt)).toBeGreaterThanOrEqual(before - 1000);
    expect(Date.parse(capturedAt)).toBeLessThanOrEqual(after + 1000);
    expect(Number.isInteger(createdAt)).toBe(true);
    expect(Math.abs(createdAt - before / 1000)).toBeLessThan(after - before + 2);
    expect(data.report).toEqual({
      httpStatus: 200,
      responseUrl: url,
      finalUrl: url,
      title: 'True words',
      images: { loaded: 0, failed: 0, pending: 0 },
      blockedRequests: 0,
      softTimeouts: [],
      strategy: 'single',
      truncated: false,
      blank: false,
      challenge: false,
      timings: {
        queueMs: expect.any(Number),
        openMs: expect.any(Number),
        navigateMs: expect.any(Number),
        settleMs: expect.any(Number),
        shootMs: expect.any(Number),
        storeMs: expect.any(Number),
        resultMs: expect.any(Number),
        answerMs: expect.any(Number),
      },
    });
  });

  test('reports a picture of one color as blank', async () => {
    const blank = await fleet().api.captured({ url: site().url('/color', { c: 'ffffff' }) });
    const other = await fleet().api.captured({ url: site().url('/quadrants') });
    expect([blank.report.blank, other.report.blank]).toEqual([true, false]);
  });

  test.for([404, 401, 403, 410, 500, 503])('a page with status %d is captured, and charged', async (code) => {
    const before = await fleet().usageCheck.usage();
    const { data, picture } = await fleet().api.picture({ url: site().url('/status', { code }) });
    expect(data.report.httpStatus).toBe(code);
    expect(picture.share('#00ff00')).toBe(1);
    const after = await fleet().usageCheck.usage();
    expect(after.tokens - before.tokens).toBe(1);
  });

  test('charges one token, two with antiBot, none for a failure', async () => {
    const { api, usageCheck } = fleet();
    const url = site().url('/color');
    const before = await usageCheck.usage();
    const plain = await api.captured({ url });
    const stealthy = await api.captured({ url, antiBot: true });
    await api.refused({ url: site().url('/reset') });
    const after = await usageCheck.usage();
    expect([plain.tokenCost, stealthy.tokenCost]).toEqual([1, 2]);
    expect({ tokens: after.tokens - before.tokens, captures: after.captures - before.captures }).toEqual({
      tokens: 3,
      captures: 2,
    });
  });

  test('the minimal request is a url', async () => {
    const { status } = await fleet().api.captured({ url: site().url('/color') });
    expect(status).toBe('completed');
  });

  test('features can be disabled explicitly', async () => {
    const off = {
      responseCache: { enabled: false, ttl: 60 },
      persistence: { enabled: false, refreshInterval: 0 },
      background: false,
      block: {},
      viewport: {},
    };
    const { status } = await fleet().api.captured({ url: site().url('/color'), ...off });
    expect(status).toBe('completed');
  });
});

describe('GET /captures/{uuid}', () => {
  test('returns the same result again, without the time until its first response', async () => {
    const data = await fleet().api.captured({ url: site().url('/color') });
    const response = await fleet().api.get(`/captures/${data.uuid}`);
    expect(response.status).toBe(200);
    const body = (await response.json()) as { success: boolean; error: null; data: typeof data };
    expect(body).toEqual({ success: true, error: null, data: { ...withoutAnswerMs(data), fromCache: false } });
    expect(await problemsOf('/captures/{uuid}', 200, body)).toEqual([]);
  });

  test('returns the state of a capture that is being rendered', async () => {
    const { api, usageCheck } = fleet();
    const page = site().visit('/held');
    const queued = await api.capture({ url: page.url, background: true });
    const uuid = queued.body?.data?.uuid ?? '';
    const record = await until('the record of the capture', async () => {
      const found = await usageCheck.record(uuid);
      return found?.status === 'rendering' && found;
    });
    const response = await api.get(`/captures/${record.uuid}`);
    const body = (await response.json()) as { data: { uuid: string; status: string } };
    page.release();
    expect(response.status).toBe(200);
    expect(body.data).toMatchObject({ uuid: record.uuid, status: 'rendering' });
    expect(await problemsOf('/captures/{uuid}', 200, body)).toEqual([]);
  });

  test('returns the reason of a failure', async () => {
    const { api, usageCheck } = fleet();
    const { url } = site().visit('/reset');
    const refusal = await api.refused({ url });
    const record = (await usageCheck.records()).find((candidate) => candidate.url === url);
    expect(record).toMatchObject({ status: 'failed', failure: { code: refusal.code } });
    const response = await api.get(`/captures/${record?.uuid}`);
    const body: unknown = await response.json();
    expect(response.status).toBe(200);
    expect(JSON.stringify(body)).toContain(refusal.code);
    expect(body).toMatchObject({ data: { status: 'failed' } });
    expect(await problemsOf('/captures/{uuid}', 200, body)).toEqual([]);
  });

  test.for(['019b0000-0000-7000-8000-000000000000', '0', 'x'.repeat(300), '019b0000-0000-7000-8000-*'])(
    'returns 404 for %s',
    async (uuid) => {
      const response = await fleet().api.get(`/captures/${uuid}`);
      const body: unknown = await response.json();
      expect(response.status).toBe(404);
      expect(body).toMatchObject({ success: false, error: { code: expect.stringMatching(/NOT_FOUND/) }, data: null });
    },
  );

  test('returns 404 for a capture of another account', async () => {
    const { api, usageCheck } = fleet();
    const { uuid } = await api.captured({ url: site().url('/color') });
    const other = await usageCheck.addAccount('another-account');
    const response = await api.get(`/captures/${uuid}`, { key: other.key });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ success: false, error: { code: 'CAPTURE_NOT_FOUND' }, data: null });
  });

  test('requires a key', async () => {
    const { uuid } = await fleet().api.captured({ url: site().url('/color') });
    const response = await fleet().api.request(`/captures/${uuid}`);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ success: false, error: { code: 'UNAUTHORIZED' }, data: null });
  });
});

describe('keys', () => {
  test.for([
    ['an expired key', { expiresAt: Date.now() - 1000 }, 401, 'API_KEY_EXPIRED'],
    ['a revoked key', { revokedAt: Date.now() - 1000 }, 401, 'API_KEY_REVOKED'],
  ] as const)('%s', async ([name, change, status, code]) => {
    const { key } = await fleet().usageCheck.addAccount(name.replaceAll(' ', '-'), change);
    const refusal = await fleet().api.refused({ url: site().url('/color') }, { key });
    expect(refusal).toMatchObject({ status, code });
  });

  test('a key that expires tomorrow is accepted today', async () => {
    const { key } = await fleet().usageCheck.addAccount('until-tomorrow', { expiresAt: Date.now() + 86_400_000 });
    const data = await fleet().api.captured({ url: site().url('/color') }, { key });
    expect(data.status).toBe('completed');
  });
});

test('a link signed by the example returns the picture, or 304 if the client already has it', async () => {
  const { api, usageCheck } = fleet();
  const { key } = await usageCheck.addAccount('links');
  const headers = { authorization: `Bearer ${key}` };
  const made = await api.request('/keys/key-links/signing-secret', { method: 'POST', headers });
  const { data } = (await made.json()) as { data: { secret: string } };
  const page = site().url('/color', { why: "it's (a) *link* & more" });
  const options = [`url=${page}`, 'viewport.width=333', 'viewport.height=111', 'hide=.a', 'hide=#b'];
  const program = fileURLToPath(new URL('../../examples/capture-link/link.mjs', import.meta.url));
  const args = [program, fleet().url, 'key-links', ...options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { SECRET: data.secret } });
  const link = stdout.trim();

  const accept = 'image/avif,image/webp,image/*,*/*;q=0.8';
  const first = await api.request(link, { headers: { accept } });
  expect([first.status, first.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect((await Picture.of(Buffer.from(await first.arrayBuffer()))).size).toBe('333x111');
  const etag = first.headers.get('etag') ?? '';
  const again = await api.request(link, { headers: { accept, 'if-none-match': etag } });
  expect([again.status, again.headers.get('x-capture-uuid')]).toEqual([304, first.headers.get('x-capture-uuid')]);
  const changed = await api.request(link.replace('viewport.width=333', 'viewport.width=334'), { headers: { accept } });
  expect([changed.status, changed.headers.get('content-type')]).toEqual([401, 'image/png']);
  expect((await Picture.of(Buffer.from(await changed.arrayBuffer()))).height).toBeLessThan(50);
});

describe('other endpoints of the front', () => {
  test('an unknown path returns 404 in the envelope, an unsupported method 405', async () => {
    const statuses = { '/nothing': 404, '/webhooks/secret/rotate/': 405, '/files': 404, '/webhooks': 404 };
    for (const [path, status] of Object.entries(statuses)) {
      const response = await fleet().api.get(path);
      expect([path, response.status]).toEqual([path, status]);
      expect(await response.json()).toMatchObject({ success: false, error: { code: 'NOT_FOUND' }, data: null });
    }
  });

  test('/openapi.json is valid OpenAPI 3.1 of version 1.0.0, with an example for every JSON response', async () => {
    const response = await fleet().api.request('/openapi.json');
    expect(response.status).toBe(200);
    const document = (await response.json()) as Document;
    expect(document).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./), info: { version: '1.0.0' } });
    const result = await new Validator().validate(structuredClone(document) as never);
    expect(result.errors ?? []).toEqual([]);
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(['/capture', '/captures/{uuid}', '/files/{name}', '/status', '/status/engine']),
    );
    const answers = document.paths['/capture']?.['post']?.responses ?? {};
    expect(Object.keys(answers).toSorted()).toEqual(expect.arrayContaining(['200', '400', '401', '402', '429', '500']));
    for (const [status, { content }] of Object.entries(answers)) {
      const json = content?.['application/json'];
      expect([status, json?.example ?? json?.examples]).not.toEqual([status, undefined]);
    }
  });

  test('/docs shows the interface: captured by the service itself', { tags: 'long' }, async () => {
    const response = await fleet().api.request('/docs', { redirect: 'follow' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/html/);
    // On a busy machine, the page may show its operations only after the network is idle and the delay has passed.
    const waitFor = { selector: '.opblock', timeout: 30_000, required: true };
    // The page is large, so a busy machine may report it as busy (`settle`) although the picture is complete.
    const { data, pdf } = await fleet().api.pdf({ url: `${fleet().url}/docs`, waitFor });
    expect(data.report.softTimeouts.filter((name) => name !== 'settle')).toEqual([]);
    expect(data.metadata.pages).toBe(pdf.pages.length);
    for (const text of ['/capture', '/status', '/openapi.json']) expect(pdf.text).toContain(text);
  });

  test('the operations endpoints are not available on the public port', async () => {
    for (const path of ['/metrics', '/livez', '/readyz']) {
      expect((await fleet().api.request(path)).status).toBe(404);
    }
  });

  test('each process reports its state and its metrics on the operations port', async () => {
    const { fronts, controller, renderers, api } = fleet();
    // No label contains data from a client.
    await api.request('/made-up-4711', { method: 'PATCH' });
    await api.refused({ url: site().url('/color') }, { key: 'made-up-4711-made-up-4711' });
    const parts = [...fronts, controller, ...renderers];
    const texts = await Promise.all(
      parts.map(async (part) => {
        expect(await part.probe('/readyz')).toEqual({ status: 200, text: 'ok' });
        expect(await part.probe('/livez')).toEqual({ status: 200, text: 'ok' });
        const text = await part.metrics();
        expect(text).toMatch(/^process_cpu_seconds_total/m);
        expect(openLabels(text)).toEqual([]);
        return text;
      }),
    );
    expect(texts[0]).toMatch(/^webcapture_front_errors_total\{code="UNAUTHORIZED",.*\} [1-9]/m);
    const there = texts.join('\n').match(/(?<=^# TYPE )\S+/gm);
    const known = Object.values(allMetrics()).flatMap((metrics) => metrics.map(({ name }) => name));
    // Only a controller that runs in Kubernetes, or in a satellite, has these metrics.
    const elsewhere = /^webcapture_(kubernetes|satellite)_/;
    expect(new Set(there)).toEqual(new Set(known.filter((name) => !elsewhere.test(name))));
  });

  test('no log line of any process contains a query string, a key, or supplied html', async () => {
    const { api, key, fronts, controller, renderers } = fleet();
    await api.captured({ url: site().url('/color', { token: 'query-secret' }) });
    await api.captured({ html: '<p>html-secret</p>' });
    await api.refused({ url: site().url('/reset', { token: 'query-secret' }) });
    await api.refused({ html: 'html-secret' });
    await api.refused({ url: site().url('/color') }, { key: 'key-secret-key-secret' });
    const lines = [...fronts, controller, ...renderers].map((part) => part.logs()).join('\n');
    for (const secret of ['query-secret', 'html-secret', 'key-secret', key]) expect(lines).not.toContain(secret);
    for (const line of lines.split('\n').filter(Boolean)) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });
});

interface Document {
  readonly paths: Record<
    string,
    Record<
      string,
      { responses: Record<string, { content?: Record<string, { example?: unknown; examples?: unknown }> }> }
    >
  >;
}

async function problemsOf(path: string, status: number, body: unknown): Promise<string[]> {
  const check = await AnswerCheck.load(`${fleet().url}/openapi.json`);
  return check.problems({ path, method: 'GET', status, mediaType: 'application/json', body });
}
