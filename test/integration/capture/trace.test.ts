import { SpanStatusCode } from '@opentelemetry/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withSpan } from '@webcapture/shared/tracing/spans.ts';
import { html, sharedEngine, type TestEngine, TestSite } from '../../harness/engine.ts';
import { recordSpans } from '../../harness/recorded-spans.ts';

let engine: TestEngine;
let site: TestSite;
beforeAll(async () => {
  engine = await sharedEngine();
  site = await TestSite.start({ '/': html('text'), '/reset': (request) => void request.socket.destroy() });
});
afterAll(async () => {
  await site.close();
});

const msOf = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1000 + nanoseconds / 1e6;

test('the steps of a rendering are spans of its job, one after the other', async () => {
  using recorded = recordSpans();
  const secrets = { script: 'document.body.append("more")' };
  const { report } = await withSpan('process job', {}, () => engine.render(site.url(), {}, { secrets }));
  const job = recorded.span('process job');
  const steps = recorded.spans().filter((span) => span !== job);
  expect(steps.map(({ name }) => name)).toEqual(['open', 'navigate', 'script', 'settle', 'shoot']);
  for (const [index, { parentSpanContext, startTime, status }] of steps.entries()) {
    expect(parentSpanContext?.spanId).toBe(job.spanContext().spanId);
    expect(status.code).toBe(SpanStatusCode.UNSET);
    const before = steps[index - 1];
    // OpenTelemetry aligns each span with a clock of whole milliseconds.
    if (before !== undefined) expect(msOf(startTime)).toBeGreaterThan(msOf(before.endTime) - 2);
  }
  const [open, navigate, shoot] = [recorded.span('open'), recorded.span('navigate'), recorded.span('shoot')];
  expect(report.timings.openMs).toBeGreaterThan(msOf(open.duration) - 2);
  expect(report.timings.navigateMs).toBeLessThan(msOf(navigate.duration) + 2);
  expect(msOf(shoot.duration)).toBeGreaterThanOrEqual(report.timings.shootMs * 0.5);
  expect(msOf(shoot.endTime)).toBeLessThanOrEqual(msOf(job.endTime) + 2);
});

test('the step that fails has the code of the error', async () => {
  using recorded = recordSpans();
  const rendering = withSpan('process job', {}, () => engine.render(site.url('/reset')));
  await expect(rendering).rejects.toMatchObject({ code: 'NAVIGATION_FAILED' });
  expect(recorded.span('open').status.code).toBe(SpanStatusCode.UNSET);
  expect(recorded.span('navigate')).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'NAVIGATION_FAILED' },
  });
  expect(JSON.stringify(recorded.spans().map(({ attributes, events }) => [attributes, events]))).not.toContain(
    '/reset',
  );
});

test('a rendering outside of a trace records nothing', async () => {
  using recorded = recordSpans();
  await engine.render(site.url());
  expect(recorded.spans()).toEqual([]);
});
