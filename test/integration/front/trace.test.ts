import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RecordedSpans, recordSpans } from '../../harness/recorded-spans.ts';
import { until } from '../../harness/until.ts';
import { startTestFront, type TestFront } from './test-front.ts';

const secret = 's3cret-of-the-client';

let front: TestFront;
let recorded: RecordedSpans;
beforeAll(async () => {
  recorded = recordSpans();
  front = await startTestFront();
});
afterAll(async () => {
  await front[Symbol.asyncDispose]();
  recorded[Symbol.dispose]();
});

let traces = 0;

/** A trace of a client, which is sampled. */
function newTrace() {
  const traceId = (++traces).toString(16).padStart(32, 'a');
  return { traceId, traceparent: `00-${traceId}-b7ad6b7169203331-01` };
}

const capture = (body: object, traceparent: string, key?: string) =>
  front.call('/capture', {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent },
    body: JSON.stringify(body),
    ...(key === undefined ? {} : { key }),
  });

const spansOf = (traceId: string) => recorded.spans().filter((span) => span.spanContext().traceId === traceId);

/** Returns the spans of a trace by their names when all of these have ended. */
const ended = async (traceId: string, ...names: readonly string[]): Promise<Readonly<Record<string, ReadableSpan>>> => {
  const all = () => names.every((name) => spansOf(traceId).some((span) => span.name === name));
  await until(`${names.join(', ')} to end`, all);
  return Object.fromEntries(spansOf(traceId).map((span) => [span.name, span]));
};

/** Returns the name of the parent of each span; the span of the client has no name. */
function parentsOf(spans: Readonly<Record<string, ReadableSpan>>): Readonly<Record<string, string | undefined>> {
  const names = new Map(Object.values(spans).map((span) => [span.spanContext().spanId, span.name]));
  const parents = Object.values(spans).map((span) => [span.name, names.get(span.parentSpanContext?.spanId ?? '')]);
  return Object.fromEntries(parents) as Readonly<Record<string, string | undefined>>;
}

test('a capture is one trace from the span of the client to the settlement, without the address of the page', async () => {
  const { traceId, traceparent } = newTrace();
  const url = `https://example.com/${secret}?q=${secret}`;
  const answer = await capture({ url, script: `'${secret}'` }, traceparent);
  expect(answer.status).toBe(200);
  const spans = await ended(
    traceId,
    'POST /capture',
    'send job',
    'queue',
    'process job',
    'send result',
    'settle result',
  );
  expect(parentsOf(spans)).toEqual({
    'POST /capture': undefined,
    'send job': 'POST /capture',
    queue: 'send job',
    'process job': 'send job',
    'send result': 'process job',
    'settle result': 'POST /capture',
  });
  expect(spans['POST /capture']?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
  const attributes = {
    'http.request.method': 'POST',
    'http.route': '/capture',
    'http.response.status_code': 200,
    'webcapture.cache': 'miss',
    'webcapture.capture.id': answer.headers.get('x-capture-uuid'),
    'webcapture.format': 'png',
    'webcapture.page.host': 'example.com',
    'webcapture.priority': 'interactive',
    'webcapture.region': 'us-east',
  };
  expect(spans['POST /capture']?.attributes).toEqual(attributes);
  const recordedTexts = recorded.spans().map(({ name, attributes: each, events }) => [name, each, events]);
  expect(JSON.stringify(recordedTexts)).not.toContain(secret);
});

test('a capture without a waiting client is settled as a part of the trace that its result carries', async () => {
  const { traceId, traceparent } = newTrace();
  expect((await capture({ url: 'https://example.com/', background: true }, traceparent)).status).toBe(200);
  const spans = await ended(traceId, 'POST /capture', 'send job', 'process job', 'send result', 'settle result');
  expect(parentsOf(spans)).toMatchObject({ 'process job': 'send job', 'settle result': 'send result' });
});

test('a returned job is queued again in its trace', async () => {
  const { traceId, traceparent } = newTrace();
  let deliveries = 0;
  front.renderer.behavior = async (job, renderer) => {
    if (++deliveries > 1) return renderer.complete(job);
    await renderer.publish(job, { kind: 'returned', reason: 'shutting_down' });
  };
  expect((await capture({ url: 'https://example.com/returned', background: true }, traceparent)).status).toBe(200);
  await ended(traceId, 'settle result');
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
  expect(spansOf(traceId).filter(({ name }) => name === 'process job')).toHaveLength(2);
});

test('a response from the cache has no job', async () => {
  const body = { url: 'https://example.com/cached', responseCache: { enabled: true } };
  expect((await capture(body, newTrace().traceparent)).status).toBe(200);
  const { traceId, traceparent } = newTrace();
  expect((await capture(body, traceparent)).status).toBe(200);
  const spans = await ended(traceId, 'POST /capture');
  expect(Object.keys(spans)).toEqual(['POST /capture']);
  expect(spans['POST /capture']?.attributes).toMatchObject({ 'webcapture.cache': 'hit' });
});

test('a request without a valid key, and an invalid request, have no span', async () => {
  const [unknown, invalid, later] = [newTrace(), newTrace(), newTrace()];
  expect((await capture({ url: 'https://example.com/' }, unknown.traceparent, 'unknown-key')).status).toBe(401);
  expect((await capture({ url: 'no address' }, invalid.traceparent)).status).toBe(400);
  expect((await capture({ url: 'https://example.com/' }, later.traceparent)).status).toBe(200);
  await ended(later.traceId, 'POST /capture');
  expect([...spansOf(unknown.traceId), ...spansOf(invalid.traceId)]).toEqual([]);
});
