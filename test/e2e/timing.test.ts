import { describe, expect, test } from 'vitest';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

// What each option waits for is covered by tests of the engine alone, because their times can be shorter than the API allows.
describe.concurrent('timeout', { tags: 'long' }, () => {
  test('a page that does not respond within it fails the capture', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/hang'), timeout: 5000 });
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_TIMEOUT' });
    expect(refusal.message).toMatch(/timeout|5000|5 s/i);
    expect(refusal.ms).toBeGreaterThan(4900);
    // The default would be 30 seconds.
    expect(refusal.ms).toBeLessThan(20_000);
  });

  test('a load event that does not come is reported, and the page is captured in its current state', async () => {
    const body = { url: site().url('/late-load'), timeout: 5000, imageTimeout: 0 };
    const start = performance.now();
    const { data, picture } = await fleet().api.picture(body);
    expect(performance.now() - start).toBeGreaterThan(4900);
    expect(performance.now() - start).toBeLessThan(20_000);
    expect(picture.at(600, 400)).toBe('#00ff00');
    expect(data.report.softTimeouts).toContain('load');
  });
});

test('the steps of the report add up to the time in the response, and with the answer to the time of the client', async () => {
  const { api } = fleet();
  // Another program can delay the way of the response to the client. In this case, the capture is repeated.
  const { ms, processingTimeMs, steps, answerMs } = await until('a capture that the client gets at once', async () => {
    const answer = await api.capture({ url: site().url('/late-load', { delay: 600 }), delay: 400 });
    const { report, processingTimeMs = Number.NaN } = answer.body?.data ?? {};
    const { answerMs = Number.NaN, ...timings } = report?.timings ?? {};
    const steps = Object.values(timings).reduce((sum, ms) => sum + ms, 0);
    const isWhole = answer.ms - steps - answerMs <= 0.1 * answer.ms + 20;
    return isWhole && { ms: answer.ms, processingTimeMs, steps, answerMs };
  });
  expect(steps).toBeGreaterThanOrEqual(980);
  // Each step is rounded.
  expect(Math.abs(steps - processingTimeMs)).toBeLessThanOrEqual(5);
  expect(processingTimeMs + answerMs).toBeLessThanOrEqual(Math.ceil(ms));
});
