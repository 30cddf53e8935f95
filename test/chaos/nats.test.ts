// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { ComponentStatus, OverallStatus } from '@webcapture/shared/api/status.ts';
import { Picture } from '../harness/picture.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';
import { expectBalance } from './accounts-balance.ts';

const fleet = useFleet({ slots: 2 });
const site = useSite();

/** Waits until every process has reconnected, and returns the file of the first capture after that. */
async function recovered(): Promise<string> {
  const { controller, fronts, renderers, serving } = fleet();
  for (const part of [controller, ...fronts, ...renderers]) await part.ready();
  await serving('us-east', 1);
  const { body } = await until(
    'a capture to be accepted again',
    async () => {
      const answer = await fleet().api.capture({ url: site().url('/color') });
      return answer.status === 200 && answer;
    },
    { intervalMs: 200 },
  );
  if (!body?.data) throw new Error('the response of an accepted capture contains no file');
  return body.data.fileUrl;
}

/** Waits until GET /status shows that the queue is unavailable. */
const queueReported = (): Promise<OverallStatus> =>
  until(
    'the queue to be reported',
    async () => {
      const response = await fetch(`${fleet().url}/status`);
      const body = (await response.json()) as OverallStatus;
      const queue = body.components?.find(({ name }) => name === 'queue');
      return response.status === 503 && queue?.status === 'major_outage' && body;
    },
    { intervalMs: 100 },
  );

test('NATS killed and restarted between captures: the next capture is correct, and older files still exist', async () => {
  const { api, nats, usageCheck } = fleet();
  const old = await api.captureWithFile({ url: site().url('/quadrants') });
  const before = await usageCheck.usage();
  await nats.restart('SIGKILL');
  const next = await api.request(await recovered());
  const picture = await Picture.of(Buffer.from(await next.arrayBuffer()));
  expect(picture.share('#00ff00')).toBe(1);
  const file = await api.request(old.data.fileUrl);
  expect(Buffer.from(await file.arrayBuffer()).equals(old.bytes)).toBe(true);
  expect((await usageCheck.usage()).tokens).toBeGreaterThanOrEqual(before.tokens + 1);
  await expectBalance(fleet());
});

test('NATS killed and restarted during a capture: the capture completes once', async () => {
  const { api, nats, usageCheck } = fleet();
  const before = await usageCheck.usage();
  const page = site().visit('/held');
  const capturing = api.captureWithFile({ url: page.url });
  await page.underWay(capturing);
  await nats.restart('SIGKILL');
  page.release();
  const { data, bytes } = await capturing;
  const record = await usageCheck.record(data.uuid);
  expect(record).toMatchObject({ status: 'completed', outcome: { fileSizeBytes: bytes.length } });
  expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
  await recovered();
  await expectBalance(fleet());
});

test('NATS killed for some seconds, while a capture is rendered: the capture completes once', async () => {
  const { api, nats, usageCheck } = fleet();
  const before = await usageCheck.usage();
  const page = site().visit('/held');
  const capturing = api.captureWithFile({ url: page.url });
  await page.underWay(capturing);
  await nats.kill('SIGKILL');
  page.release();
  await sleep(3000);
  await nats.start();
  await capturing;
  expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
  await recovered();
  await expectBalance(fleet());
});

test('NATS killed: captures fail with an error that asks to retry, the status shows it, and both recover', async () => {
  const { api, nats, operational, url } = fleet();
  await operational();
  await nats.kill('SIGKILL');
  const refusal = await api.refused({ url: site().url('/color') });
  expect(refusal.status).toBe(500);
  expect(refusal.message).toMatch(/again|retry|later/i);
  // The key and the limits are each looked up with a timeout of 3 s.
  expect(refusal.ms).toBeLessThan(8000);
  // A request that does not need NATS gets its usual response.
  const invalid = await api.refused({ url: site().url('/color'), quality: 0 });
  expect(invalid.status).toBe(400);
  const status = await queueReported();
  expect(status.status).toBe('major_outage');
  // A front shows the last status of the engine from the controller while it is fresh.
  const response = await fetch(`${url}/status/engine`);
  const engine = (await response.json()) as ComponentStatus;
  expect(engine.name).toBe('engine');
  expect(response.status).toBe(engine.status === 'operational' ? 200 : 503);
  expect(engine).toEqual(status.components?.find(({ name }) => name === 'engine'));
  const awayUntil = Date.now();
  await nats.start();
  await recovered();
  await operational();
  await expectBalance(fleet());
  // The incident is recorded only after the outage.
  const incident = await until('the incident in the history', async () => {
    const { incidents } = (await (await fetch(`${url}/status/history.json`)).json()) as StatusHistory;
    return incidents.find(({ component, endedAt }) => component === 'queue' && Date.parse(endedAt ?? '') > awayUntil);
  });
  expect(incident.status).toBe('major_outage');
  expect(Date.parse(incident.startedAt)).toBeLessThan(awayUntil);
});

test('NATS stopped by SIGSTOP, with open connections: the status shows it within 12 s, and a waiting capture completes', async () => {
  const { api, nats, operational } = fleet();
  await operational();
  const page = site().visit('/held');
  const capturing = api.captureWithFile({ url: page.url });
  await page.underWay(capturing);
  const from = performance.now();
  nats.signal('SIGSTOP');
  try {
    page.release();
    await queueReported();
    // Detection takes about 7 s; a stale status would show only after 30 s.
    expect(performance.now() - from).toBeLessThan(12_000);
  } finally {
    nats.signal('SIGCONT');
  }
  await capturing;
  await recovered();
  await operational();
  await expectBalance(fleet());
});

test('NATS killed repeatedly under load: every capture with a response exists, and is charged once', async () => {
  const { api, nats } = fleet();
  const answers = Array.from({ length: 16 }, (_, index) =>
    api.capture({
      url: site().url('/images', { list: `slow:${100 + index * 40}` }),
      viewport: { width: 160, height: 90 },
    }),
  );
  for (let round = 0; round < 2; round++) {
    await sleep(700);
    await nats.restart('SIGKILL');
  }
  const results = await Promise.all(answers);
  await recovered();
  const records = await expectBalance(fleet());
  const answered = results.filter(({ status }) => status === 200).map(({ body }) => body?.data);
  for (const data of answered) {
    const record = records.find(({ uuid }) => uuid === data?.uuid);
    expect(record).toMatchObject({ status: 'completed', outcome: { fileSizeBytes: data?.fileSizeBytes } });
  }
  expect(results.map(({ status }) => status).filter((status) => status !== 200 && status !== 500)).toEqual([]);
  // A short outage is hidden from clients.
  expect(answered.length).toBeGreaterThanOrEqual(12);
});
