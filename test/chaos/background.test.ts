// @module-tag long
import { expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { outcomeOf, type Answer } from '../harness/api.ts';
import type { Fleet } from '../harness/fleet.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';
import { expectBalance } from './accounts-balance.ts';

const fleet = useFleet({ slots: 2, fronts: 2, env: { WEBCAPTURE_QUEUE_TIMEOUT: '120' } });
const site = useSite();

const first = <T>(items: readonly T[], index = 0): T => {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no item ${index}`);
  return item;
};

/** A small viewport, because the content of these captures is not checked. */
const viewport = { width: 160, height: 90 };

const uuidOf = ({ body }: Answer) => body?.data?.uuid ?? '';

/** Checks that all accepted captures have completed. */
function expectAllCompleted(records: readonly CaptureRecord[], accepted: readonly Answer[]): void {
  const ends = new Map(records.map(({ uuid, status }) => [uuid, status]));
  expect(accepted.map((answer) => ends.get(uuidOf(answer)))).toEqual(accepted.map(() => 'completed'));
}

async function allReady({ controller, fronts, renderers, serving }: Fleet): Promise<void> {
  for (const part of [controller, ...fronts, ...renderers]) await part.ready();
  await serving('us-east', 1);
}

test('NATS killed by SIGKILL during 50 captures: each accepted capture completes once', async () => {
  const { api, nats, usageCheck, urls } = fleet();
  const accepted: Answer[] = [];
  const answers = Array.from({ length: 50 }, async (_, index) => {
    const background = index % 2 === 0;
    const url = site().url('/images', { list: `slow:${20 + index * 4}` });
    const answer = await api.capture({ url, viewport, background }, { base: first(urls, index % 2) });
    if (background && answer.status === 200) accepted.push(answer);
    return answer;
  });
  await until('some to be in progress', () => accepted.length >= 5 && usageCheck.queued().then((count) => count >= 5));
  await nats.restart('SIGKILL');
  const outcomes = (await Promise.all(answers)).map(outcomeOf);
  await allReady(fleet());
  const records = await expectBalance(fleet());
  expectAllCompleted(records, accepted);
  // A short outage is hidden from clients. A refused capture has an error that asks to retry.
  const expected = ['completed', 'INTERNAL_ERROR', 'CAPTURE_TIMEOUT'];
  expect(outcomes.filter((outcome) => !expected.includes(outcome))).toEqual([]);
  expect(outcomes.filter((outcome) => outcome === 'completed').length).toBeGreaterThanOrEqual(40);
});

test('a front killed between publish and response: the same Idempotency-Key returns the capture, which is charged once', async () => {
  const { api, usageCheck, fronts, urls } = fleet();
  const before = await usageCheck.usage();
  const page = site().visit('/held');
  const headers = { 'idempotency-key': 'order-4711' };
  const lost = api.capture({ url: page.url }, { base: first(urls, 1), headers }).catch(() => null);
  await page.underWay(lost);
  await first(fronts, 1).kill('SIGKILL');
  expect(await lost).toBeNull();
  const again = api.captured({ url: page.url }, { headers });
  page.release();
  const { uuid, tokenCost } = await again;
  expect(tokenCost).toBe(1);
  expect(await usageCheck.record(uuid)).toMatchObject({ status: 'completed' });
  expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
  await first(fronts, 1).start();
  expect(await api.captured({ url: page.url }, { headers, base: first(urls, 1) })).toMatchObject({ uuid });
  await expectBalance(fleet());
});

test('a front killed during many background requests: all accepted captures complete, and the others end', async () => {
  const { api, fronts, urls } = fleet();
  const accepted: Answer[] = [];
  const answers = Array.from({ length: 40 }, () =>
    api.capture({ url: site().url('/color'), viewport, background: true }, { base: first(urls, 1) }).then(
      (answer) => answer.status === 200 && accepted.push(answer),
      () => 'connection lost',
    ),
  );
  await until('some to be accepted', () => accepted.length >= 10);
  await first(fronts, 1).kill('SIGKILL');
  await Promise.all(answers);
  await first(fronts, 1).start();
  const records = await expectBalance(fleet());
  expectAllCompleted(records, accepted);
});

test('a renderer killed during a background capture: it is rendered again, and charged once', async () => {
  const { api, usageCheck, renderer } = fleet();
  const before = await usageCheck.usage();
  const page = site().visit('/held');
  const answer = await api.capture({ url: page.url, background: true });
  await page.reached('/asset/held');
  await renderer('us-east').kill('SIGKILL');
  page.release();
  await renderer('us-east').start();
  await until('it to be completed', async () => (await usageCheck.record(uuidOf(answer)))?.status === 'completed');
  expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
  await expectBalance(fleet());
});

test('HTML of the maximum size passes the background queue unchanged', async () => {
  const { api, usageCheck } = fleet();
  const head = '<style>body{background:#00ff00}</style>';
  const html = head + '\u{1f600}'.repeat(1_048_576 - head.length);
  const answer = await api.capture({ html, background: true });
  const record = await until('it to be completed', async () => {
    const found = await usageCheck.record(uuidOf(answer));
    return found?.status === 'completed' && found;
  });
  expect(record.outcome?.report.blank).toBe(false);
  await expectBalance(fleet());
});

test('clients that disconnect: a queued capture is cancelled and free, a started one completes and is charged', async () => {
  const { api, usageCheck } = fleet();
  const before = await usageCheck.usage();
  const pages = Array.from({ length: 3 }, () => site().visit('/held'));
  const gone = new AbortController();
  const captures = pages.map(({ url }) => api.capture({ url }, { signal: gone.signal }).catch(() => null));
  // There are two slots: two captures start, and the third waits.
  await until('two to be in progress', () => pages.filter((page) => page.seen('/asset/held').length > 0).length === 2);
  const recordsOf = async () => {
    const urls = pages.map(({ url }) => url);
    return (await usageCheck.records()).filter(({ url }) => urls.includes(url));
  };
  await until('the third to be queued', async () => (await usageCheck.queued()) === 3);
  gone.abort();
  await Promise.all(captures);
  await until('it to be cancelled', async () => (await recordsOf()).some(({ failure }) => failure?.cancelled));
  for (const page of pages) page.release();
  await expectBalance(fleet());
  expect((await recordsOf()).map(({ status }) => status).toSorted()).toEqual(['completed', 'completed', 'failed']);
  expect((await usageCheck.usage()).tokens - before.tokens).toBe(2);
});
