import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AccountView, UsageView } from '@webcapture/shared/api/account.ts';
import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf, send, type Answer } from './accounts.ts';
import { completeJobs, holdJobs, openHolder, startBackgroundFront, tally, type Holder } from './background.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
let release = () => undefined as void;
beforeAll(async () => {
  front = await startBackgroundFront();
});
afterAll(() => front[Symbol.asyncDispose]());
afterEach(() => {
  release();
  completeJobs(front.renderer);
  front.renderer.bytes = Buffer.alloc(1000, 'x');
});

/** Sets the size of the renderer's files. */
function makeFilesOf(bytes: number): void {
  // The header of a PNG has 33 bytes.
  front.renderer.bytes = Buffer.alloc(bytes - 33, 'x');
}

const usageOf = async ({ key }: Holder) => dataOf<UsageView>(await send(`${front.url}/usage`, key));
const interactive = (holder: Holder, body: object = {}, url = front.url) =>
  holder.capture({ background: false, ...body }, url);
const idle = (holder: Holder) => until('all to have ended', async () => (await usageOf(holder)).queued === 0);
const refusal = ({ status, body }: Answer) => ({ status, ...body.error });
const agree = async (holder: Holder) => expect(await holder.ledger()).toEqual(await holder.sumOfRecords());

/** Returns HTML of the given size in bytes. */
const htmlOf = (bytes: number) => '<p>'.padEnd(bytes, 'x');

describe('the HTML of background captures', () => {
  test('is refused above the limit, while URLs are queued, until captures end or are deleted', async () => {
    const holder = await openHolder(front, { maxQueuedBytes: 3500 });
    const queue = () => holder.capture({ url: undefined, html: htmlOf(1000) });
    release = holdJobs(front.renderer);
    const answers = await Promise.all(Array.from({ length: 10 }, queue));
    expect(tally(answers)).toEqual({ queued: 3, QUOTA_EXCEEDED: 7 });
    expect(refusal(await queue())).toMatchObject({
      status: 402,
      message: expect.stringContaining(
        'The account uses 3000 of 3500 bytes of HTML of background captures that have not ended (maxQueuedBytes). This capture adds 1000 bytes.',
      ) as string,
    });
    expect(await usageOf(holder)).toMatchObject({ queuedBytes: 3000, maxQueuedBytes: 3500, embeddedBytes: 3000 });
    const { uuid } = await holder.queue();
    expect(await holder.state(uuid)).toMatchObject({ status: 'queued' });
    await agree(holder);

    const queued = answers.flatMap(({ body }) => (body.data as { uuid: string } | null)?.uuid ?? []);
    const waiting = await Promise.all(queued.map((each) => holder.remove(each)));
    const deleted = waiting.filter(({ status }) => status === 200).length;
    expect(deleted).toBeGreaterThan(0);
    expect((await usageOf(holder)).queuedBytes).toBe(3000 - 1000 * deleted);
    release();
    await idle(holder);
    expect(await usageOf(holder)).toMatchObject({ queuedBytes: 0 });
    expect((await queue()).status).toBe(200);
    await idle(holder);
    await agree(holder);
  });

  test('of a persisted capture counts until the capture is deleted', async () => {
    makeFilesOf(500);
    const holder = await openHolder(front, { maxPersistedBytes: 1700 });
    const body = { html: htmlOf(1000), url: undefined, persistence: { enabled: true } };
    const { uuid } = await holder.queue(body);
    await holder.until(uuid, 'completed');
    expect(await usageOf(holder)).toMatchObject({ queuedBytes: 0, storedBytes: 0, persistedBytes: 1500 });
    expect(refusal(await interactive(holder, body))).toMatchObject({
      status: 402,
      message: expect.stringContaining('1500 of 1700 bytes of persisted files (maxPersistedBytes)') as string,
    });
    expect((await interactive(holder)).status).toBe(200);
    await holder.remove(uuid);
    expect(await usageOf(holder)).toMatchObject({ persistedBytes: 0, storedBytes: 500 });
    await agree(holder);
  });
});

describe('stored files', () => {
  test('are refused before rendering if the account is full, until one is deleted', async () => {
    makeFilesOf(1000);
    const holder = await openHolder(front, { maxStoredBytes: 2000 });
    const [first] = [await interactive(holder), await interactive(holder)].map((each) => dataOf<CaptureResult>(each));
    const rendered = front.renderer.jobs.length;
    expect(refusal(await interactive(holder))).toMatchObject({
      status: 402,
      code: 'QUOTA_EXCEEDED',
      message: expect.stringMatching(
        /^The account uses 2000 of 2000 bytes of stored files \(maxStoredBytes\)\. Delete/,
      ) as string,
    });
    expect((await holder.capture()).status).toBe(402);
    expect(front.renderer.jobs).toHaveLength(rendered);
    await holder.remove(first?.uuid ?? '');
    expect((await usageOf(holder)).storedBytes).toBe(1000);
    expect((await interactive(holder)).status).toBe(200);
    await agree(holder);
  });

  test('that do not fit are removed, cost nothing and fail their captures', async () => {
    makeFilesOf(1000);
    const holder = await openHolder(front, { maxStoredBytes: 1500 });
    release = holdJobs(front.renderer);
    const uuids = await Promise.all(Array.from({ length: 3 }, async () => (await holder.queue()).uuid));
    release();
    await idle(holder);
    const states = await Promise.all(uuids.map((uuid) => holder.state(uuid)));
    const completed = states.filter(({ status }) => status === 'completed');
    expect([states.length, completed.length]).toEqual([3, 1]);
    for (const [index, { status, error }] of states.entries()) {
      const { fileName } = await holder.record(uuids[index] ?? '');
      expect(await front.renderer.store.stat(fileName)).toEqual(status === 'failed' ? null : expect.anything());
      if (status === 'failed') expect(error).toMatchObject({ code: 'QUOTA_EXCEEDED', cause: 'client' });
    }
    expect(await usageOf(holder)).toMatchObject({ storedBytes: 1000, tokensUsed: 1 });
    await agree(holder);

    makeFilesOf(600);
    expect(refusal(await interactive(holder))).toMatchObject({
      status: 402,
      message: expect.stringContaining(
        'uses 1000 of 1500 bytes of stored files (maxStoredBytes). This capture adds 600',
      ) as string,
    });
    makeFilesOf(500);
    expect((await interactive(holder)).status).toBe(200);
  });

  test('are replaced by a refresh only if the new file fits', async () => {
    makeFilesOf(1000);
    const holder = await openHolder(front, { maxPersistedBytes: 1100 });
    const { uuid } = await holder.queue({ persistence: { enabled: true } });
    await holder.until(uuid, 'completed');
    const refresh = async (size: number) => {
      makeFilesOf(size);
      await holder.refresh(uuid);
      await idle(holder);
      const { persistedBytes } = await usageOf(holder);
      const { refresh: last, outcome } = await holder.record(uuid);
      return { state: last?.state, code: last?.failure?.code, size: outcome?.fileSizeBytes, persistedBytes };
    };
    expect(await refresh(1100)).toMatchObject({ state: 'completed', size: 1100, persistedBytes: 1100 });
    expect(await refresh(1101)).toEqual({ state: 'failed', code: 'QUOTA_EXCEEDED', size: 1100, persistedBytes: 1100 });
    expect(await refresh(900)).toMatchObject({ state: 'completed', size: 900, persistedBytes: 900 });
    await agree(holder);
  });
});

test('an operator sets the limits of an account, and the defaults apply to the others', async () => {
  const holder = await openHolder(front, { maxStoredBytes: 1, maxQueuedBytes: 2 });
  const change = (body: object) =>
    send(`${front.url}/admin/accounts/${holder.account}`, adminToken, { method: 'PATCH', body });
  expect(dataOf<AccountView>(await change({ maxPersistedBytes: 3 }))).toMatchObject({
    maxQueuedBytes: 2,
    maxStoredBytes: 1,
    maxPersistedBytes: 3,
  });
  expect(await usageOf(holder)).toMatchObject({ maxQueuedBytes: 2, maxStoredBytes: 1, maxPersistedBytes: 3 });
  expect((await change({ maxStoredBytes: -1 })).status).toBe(400);
  const created = await send(`${front.url}/admin/accounts`, adminToken, { body: { name: 'Defaults' } });
  expect(dataOf<AccountView>(created)).toMatchObject({ maxQueuedBytes: 2 ** 30, maxStoredBytes: 100 * 2 ** 30 });
});

test('no account stores more than its share of the embedded store, and others can still capture', async () => {
  await front.nats.session.jsm.streams.update(streamNames.files, { max_bytes: 2 ** 20 });
  const other = await front.addFront();
  makeFilesOf(200_000);
  const [full, asking] = [await openHolder(front), await openHolder(front)];
  // The first front does not know the maximum yet, and may settle queued results: these captures are interactive.
  expect((await interactive(full, {}, other)).status).toBe(200);
  expect(refusal(await interactive(full, {}, other))).toMatchObject({
    status: 402,
    message: expect.stringContaining('uses 200000 of 262144 bytes of the part of the embedded store') as string,
  });
  const usage = dataOf<UsageView>(await send(`${other}/usage`, full.key));
  expect(usage).toMatchObject({ embeddedBytes: 200_000, maxEmbeddedBytes: 262_144 });
  expect((await usageOf(full)).maxEmbeddedBytes).toBeNull();
  expect((await interactive(asking, {}, other)).status).toBe(200);
});
