// @module-tag long
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type CollectedSpan, collectorSetUpMs, startCollector, type TestCollector } from '../harness/collector.ts';
import { type Fleet, startFleet } from '../harness/fleet.ts';
import { prometheusSetUpMs, startPrometheus } from '../harness/prometheus.ts';
import { serve } from '../harness/static-site.ts';
import { until } from '../harness/until.ts';

const page = '<title>Traced</title><p>text</p>';
const secret = 's3cret-of-the-client';

let collector: TestCollector;
let fleet: Fleet;
beforeAll(async () => {
  collector = await startCollector();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  };
  fleet = await startFleet({ tools: inject('tools'), tempFolder: inject('tempFolder') }, { store: 'embedded', env });
}, collectorSetUpMs);
afterAll(async () => {
  await fleet?.stop();
  await collector?.[Symbol.asyncDispose]();
});

/** A trace of a client, which is sampled. */
function newTrace() {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
}

const capture = (body: object, headers: Readonly<Record<string, string>> = {}, key = fleet.key) =>
  fetch(`${fleet.url}/capture`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const spansOf = (traceId: string) => collector.spans().filter((span) => span.traceId === traceId);

/** Returns the spans of a trace when these names have arrived; each service sends its own every five seconds. */
const arrived = (traceId: string, ...names: readonly string[]): Promise<readonly CollectedSpan[]> =>
  until(
    `${names.join(', ')} of trace ${traceId}`,
    () => {
      const spans = spansOf(traceId);
      return names.every((name) => spans.some((span) => span.name === name)) && spans;
    },
    { deadlineMs: 60_000, intervalMs: 200 },
  );

function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const [span, ...others] = spans.filter((each) => each.name === name);
  if (span === undefined || others.length > 0) {
    throw new Error(`expected one span ${name}, got ${JSON.stringify([span, ...others].filter(Boolean))}`);
  }
  return span;
}

const front = ['POST /capture', 'send job'];
const renderer = ['queue', 'process job', 'open', 'navigate', 'settle', 'shoot', 'store', 'send result'];

test('a capture is one trace, from the span of the client to the settlement, without the address of the page', async () => {
  await using site = await serve((_, response) => response.setHeader('content-type', 'text/html').end(page));
  const { traceId, spanId, headers } = newTrace();
  const answer = await capture({ url: `${site.url}/${secret}?q=${secret}`, script: `'${secret}'` }, headers);
  expect(answer.status).toBe(200);
  const uuid = answer.headers.get('x-capture-uuid');
  const spans = await arrived(traceId, ...front, ...renderer, 'settle result');

  const parentOf = ({ parentSpanId }: CollectedSpan) => spans.find((span) => span.spanId === parentSpanId)?.name;
  const request = only(spans, 'POST /capture');
  expect(request.parentSpanId).toBe(spanId);
  expect(request.kind).toBe('server');
  expect(request.resource).toMatchObject({
    'service.name': 'webcapture-front',
    'service.instance.id': 'front-0',
    'deployment.environment.name': 'test',
  });
  expect(request.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/capture',
    'http.response.status_code': '200',
    'webcapture.cache': 'miss',
    'webcapture.capture.id': uuid,
    'webcapture.format': 'png',
    'webcapture.page.host': '127.0.0.1',
    'webcapture.priority': 'interactive',
    'webcapture.region': 'us-east',
  });
  const job = only(spans, 'process job');
  expect(job.kind).toBe('consumer');
  expect(job.resource).toMatchObject({ 'service.name': 'webcapture-renderer', 'webcapture.region': 'us-east' });
  expect(job.attributes).toMatchObject({ 'webcapture.outcome': 'completed', 'webcapture.capture.id': uuid });
  const parents = Object.fromEntries(
    spans.filter((span) => span !== request).map((span) => [span.name, parentOf(span)]),
  );
  expect(parents).toEqual({
    'send job': 'POST /capture',
    queue: 'send job',
    'process job': 'send job',
    ...Object.fromEntries(
      ['open', 'navigate', 'script', 'settle', 'shoot', 'store', 'send result'].map((name) => [name, 'process job']),
    ),
    'settle result': 'POST /capture',
  });
  // The steps follow one another within the job. OpenTelemetry aligns each span with a clock of whole milliseconds.
  const steps = ['open', 'navigate', 'script', 'settle', 'shoot'].map((name) => only(spans, name));
  for (const [index, { startedAt }] of steps.entries()) {
    expect(startedAt).toBeGreaterThan((steps[index - 1]?.endedAt ?? 0) - 2);
  }
  expect(steps[0]?.startedAt).toBeGreaterThanOrEqual(job.startedAt - 2);
  expect(steps.at(-1)?.endedAt).toBeLessThanOrEqual(job.endedAt + 2);
  expect(collector.text()).not.toContain(secret);
  expect(collector.text()).not.toContain(fleet.key);

  const lines = (text: string) => text.split('\n').filter((line) => line.includes(`"trace_id":"${traceId}"`));
  expect(lines(fleet.fronts[0]?.logs() ?? '').join('\n')).toContain(`"span_id":"${request.spanId}"`);
  expect(lines(fleet.renderer('us-east').logs()).join('\n')).toContain('capture completed and stored');
});

test('a capture without a waiting client is settled in the trace of its request', async () => {
  const { traceId, headers } = newTrace();
  expect((await capture({ html: page, background: true }, headers)).status).toBe(200);
  const spans = await arrived(traceId, ...front, ...renderer, 'settle result');
  expect(only(spans, 'settle result').parentSpanId).toBe(only(spans, 'send result').spanId);
  expect(only(spans, 'POST /capture').attributes).toMatchObject({ 'webcapture.priority': 'background' });
});

test('a cached response has no job, and a request without a key no span', async () => {
  const { traceId, headers } = newTrace();
  const body = { html: page, responseCache: { enabled: true } };
  expect((await capture(body)).status).toBe(200);
  const refused = newTrace();
  expect((await capture(body, refused.headers, 'unknown-key-unknown-key')).status).toBe(401);
  expect((await capture(body, headers)).status).toBe(200);
  const spans = await arrived(traceId, 'POST /capture');
  expect(spans).toHaveLength(1);
  expect(spans[0]?.attributes).toMatchObject({ 'webcapture.cache': 'hit' });
  expect(spansOf(refused.traceId)).toEqual([]);
});

test('a failed capture has the error code at the step that failed', async () => {
  await using site = await serve((request) => request.socket.destroy());
  const { traceId, headers } = newTrace();
  const answer = await capture({ url: `${site.url}/${secret}` }, headers);
  const spans = await arrived(traceId, 'POST /capture', 'process job', 'navigate', 'settle result');
  for (const name of ['navigate', 'process job']) {
    expect(only(spans, name)).toMatchObject({ hasFailed: true, attributes: { 'error.type': 'NAVIGATION_FAILED' } });
  }
  expect(only(spans, 'open').hasFailed).toBe(false);
  expect(only(spans, 'POST /capture').attributes).toMatchObject({
    'error.type': 'NAVIGATION_FAILED',
    'http.response.status_code': String(answer.status),
  });
  expect(collector.text()).not.toContain(secret);
});

test('a job that is delivered again stays in its trace', async () => {
  let requests = 0;
  await using site = await serve((_, response) => {
    // The first request never gets a response.
    if (++requests > 1) response.setHeader('content-type', 'text/html').end(page);
  });
  const { traceId, headers } = newTrace();
  const answered = capture({ url: site.url, timeout: 60_000 }, headers);
  await until('the page to be requested', () => requests > 0);
  await fleet.renderer('us-east').kill();
  await fleet.renderer('us-east').start();
  expect((await answered).status).toBe(200);
  const spans = await arrived(traceId, 'POST /capture', 'process job', 'settle result');
  // The killed renderer sends no span. The restarted one may return the job, and the server then delivers it again.
  const deliveries = spans.filter(({ name }) => name === 'process job');
  const sent = only(spans, 'send job').spanId;
  expect(deliveries.map(({ parentSpanId }) => parentSpanId)).toEqual(deliveries.map(() => sent));
  const completed = deliveries.filter(({ attributes }) => attributes['webcapture.outcome'] === 'completed');
  expect(completed.map(({ attributes }) => Number(attributes['webcapture.delivery']))).toEqual([
    expect.toSatisfy((delivery: number) => delivery >= 2),
  ]);
});

test(
  'the latency histograms have the traces as exemplars, in a format that Prometheus reads',
  async () => {
    const { traceId, headers } = newTrace();
    expect((await capture({ html: page }, headers)).status).toBe(200);
    const [first] = fleet.fronts;
    const exemplar = (name: string) =>
      new RegExp(`^${name}_bucket\\{.*\\} \\d+ # \\{trace_id="${traceId}",span_id="\\w{16}"\\} \\d`, 'm');
    await until('the request to be recorded', async () =>
      exemplar('webcapture_front_request_seconds').test((await first?.metrics()) ?? ''),
    );
    expect(await first?.metrics()).toMatch(exemplar('webcapture_front_own_seconds'));
    const rendered = await fleet.renderer('us-east').metrics();
    expect(rendered).toMatch(exemplar('webcapture_renderer_render_seconds'));
    expect(rendered).toMatch(exemplar('webcapture_renderer_queue_wait_seconds'));

    const targets = [{ url: first?.opsUrl ?? '', labels: { pod: 'front-0' } }];
    await using prometheus = await startPrometheus(targets, { groups: [] });
    // The names are the same as without tracing.
    await until(
      'Prometheus to have the metrics',
      async () => (await prometheus.query('webcapture_front_captures_total{outcome="completed"} > 0')).length > 0,
    );
  },
  prometheusSetUpMs,
);

test('a front that drains sends its last spans', async () => {
  const { traceId, headers } = newTrace();
  expect((await capture({ html: page }, headers)).status).toBe(200);
  await fleet.fronts[0]?.stop(30_000);
  await arrived(traceId, 'POST /capture');
});
