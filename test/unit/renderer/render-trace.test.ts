import { expect, test } from 'vitest';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RenderTrace, type TracedPage } from '../../../services/renderer/diagnostics/trace.ts';

/** A page without a document, of which nothing is read. */
function pageAt(url: string): TracedPage {
  return {
    page: { url: () => url, isClosed: () => true },
    document: { arrivals: 0 },
    deadline: { remainingMs: 10_000 },
    proxySession: { failureOf: () => undefined },
  } as unknown as TracedPage;
}

async function describeTrace(trace: RenderTrace, failure?: ServiceError, url = 'about:blank') {
  const stored = await trace.describe(pageAt(url), failure);
  if (stored === null) throw new Error('the trace cannot be described');
  return stored.diagnostics;
}

const ago = (ms: number) => performance.now() - ms;

test('waits of 100 ms and more are noted, and shorter ones only if they timed out', async () => {
  const trace = new RenderTrace(undefined);
  trace.noteWait('short', ago(50), false);
  trace.noteWait('long', ago(101), false);
  trace.noteWait('given up', ago(50), true);
  const { waits } = await describeTrace(trace);
  expect(waits.map(({ what, timedOut }) => [what, timedOut])).toEqual([
    ['long', false],
    ['given up', true],
  ]);
  expect(waits[0]?.durationMs).toBeGreaterThanOrEqual(100);
});

test('the last 50 waits are kept', async () => {
  const trace = new RenderTrace(undefined);
  for (let index = 0; index < 52; index += 1) trace.noteWait(`wait ${index}`, ago(200), false);
  const { waits } = await describeTrace(trace);
  expect([waits.length, waits[0]?.what, waits.at(-1)?.what]).toEqual([50, 'wait 2', 'wait 51']);
});

test('only the last step of a failed capture has failed', async () => {
  const failure = new ServiceError('CAPTURE_FAILED', 'no', { causedBy: 'page' });
  const steps = async (thrown?: ServiceError) => {
    const trace = new RenderTrace(undefined);
    trace.begin('navigation');
    return (await describeTrace(trace, thrown)).steps.map(({ name, failed }) => [name, failed]);
  };
  expect(await steps(failure)).toEqual([
    ['setUp', false],
    ['navigation', true],
  ]);
  expect(await steps()).toEqual([
    ['setUp', false],
    ['navigation', false],
  ]);
});

test('the error and the address of the page are without secrets, and of limited length', async () => {
  const trace = new RenderTrace({ headers: { 'X-Secret': 'hidden-1' } });
  const failure = new ServiceError('CAPTURE_FAILED', `hidden-1 ${'x'.repeat(3000)}`, { causedBy: 'page' });
  const { error, pageUrl } = await describeTrace(trace, failure, 'http://user:hidden-2@example.com/?a=hidden-1#part');
  expect(error?.message).toMatch(/^\[redacted\] x+$/);
  expect(error?.message).toHaveLength(2000);
  expect(pageUrl).toBe('http://example.com/?a=[redacted]');
});
