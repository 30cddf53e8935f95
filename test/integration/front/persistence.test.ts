import { expect, test } from 'vitest';
import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import { openHolder, startBackgroundFront } from './background.ts';
import { read, startTestFront } from './test-front.ts';

test('a stored capture is kept for the days that the operator configured, for any cdnTtl', async () => {
  await using front = await startTestFront({ WEBCAPTURE_PERSISTENCE_DAYS: '7' });
  const before = Date.now();
  const { body } = await read(
    await front.capture({ url: 'https://example.com/', persistence: { enabled: true }, cdnTtl: 100 }),
  );
  const { expiresAt } = (body.data ?? {})['metadata'] as { expiresAt: string };
  const keptMs = Date.parse(expiresAt) - before;
  expect(keptMs).toBeGreaterThan(7 * 86_400_000 - 60_000);
  expect(keptMs).toBeLessThan(7 * 86_400_000 + 60_000);
  expect(front.renderer.jobs[0]?.file.lifetimeMs).toBe(604_800_000);
  const file = await front.renderer.store.stat(front.renderer.jobs[0]?.file.object ?? '');
  expect(file?.expiresAt).toBe(Date.parse(expiresAt));
});

test('a capture with persistence has the lifetime that the operator configured', async () => {
  await using front = await startBackgroundFront();
  const holder = await openHolder(front);
  const refreshInterval = 86_400;
  const { uuid } = await holder.queue({ cdnTtl: 3600, persistence: { enabled: true, refreshInterval } });
  const { acceptedAt, expiresAt } = await holder.record(uuid);
  expect(expiresAt - acceptedAt).toBe(3650 * 86_400_000);
  const { refresh } = await holder.until(uuid, 'completed');
  const { outcome } = await holder.record(uuid);
  const nextAt = new Date((outcome?.capturedAt ?? 0) + refreshInterval * 1000).toISOString();
  expect(refresh).toMatchObject({ state: 'idle', nextAt, tokensCharged: 0 });
});

test('the response of a capture with a schedule contains the time of its next refresh', async () => {
  await using front = await startBackgroundFront();
  const holder = await openHolder(front);
  const schedule = { cron: '0 6 * * *', timeZone: 'Europe/Berlin' };
  const { uuid } = await holder.queue({ persistence: { enabled: true, schedule } });
  const { refresh } = (await holder.until(uuid, 'completed')) as CaptureResult;
  const { outcome, persistence } = await holder.record(uuid);
  expect(persistence).toEqual({ refreshIntervalMs: 0, schedule });
  const nextAt = Date.parse(refresh?.nextAt ?? '');
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: schedule.timeZone, timeStyle: 'medium' });
  expect(clock.format(nextAt)).toBe('06:00:00');
  expect(nextAt).toBeGreaterThan(outcome?.capturedAt ?? Infinity);
  expect(nextAt).toBeLessThan((outcome?.capturedAt ?? 0) + 26 * 3_600_000);
});
