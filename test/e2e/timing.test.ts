import { describe, expect, test } from 'vitest';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

// What each option waits for is tested with the engine alone, where times can be shorter than clients may ask for.
describe.concurrent('timeout', () => {
  test('no answer of the page until it ends the capture', async () => {
    const refusal = await fleet().api.refused({ url: site().url('/hang'), timeout: 5000 });
    expect(refusal).toMatchObject({ status: 500, code: 'CAPTURE_TIMEOUT' });
    expect(refusal.message).toMatch(/timeout|5000|5 s/i);
    expect(refusal.ms).toBeGreaterThan(4900);
    // By default it would be 30 seconds.
    expect(refusal.ms).toBeLessThan(20_000);
  });

  test('a load event that does not come is named, and the page captured as it stands', async () => {
    const body = { url: site().url('/late-load'), timeout: 5000, imageTimeout: 0 };
    const start = performance.now();
    const { data, picture } = await fleet().api.picture(body);
    expect(performance.now() - start).toBeGreaterThan(4900);
    expect(performance.now() - start).toBeLessThan(20_000);
    expect(picture.at(600, 400)).toBe('#00ff00');
    expect(data.report.softTimeouts).toContain('load');
  });
});

test('the times of the report fit into what the answer says, and that into what the client waited', async () => {
  const body = { url: site().url('/late-load', { delay: 600 }), delay: 400 };
  const answer = await fleet().api.capture(body);
  const { processingTimeMs, report } = answer.body?.data ?? { processingTimeMs: Number.NaN, report: undefined };
  const parts = Object.values(report?.timings ?? {}).reduce((sum, ms) => sum + ms, 0);
  expect(parts).toBeGreaterThanOrEqual(980);
  expect(parts).toBeLessThanOrEqual(processingTimeMs + 5);
  expect(processingTimeMs).toBeLessThanOrEqual(Math.ceil(answer.ms));
});
