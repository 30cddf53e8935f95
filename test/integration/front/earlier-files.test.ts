import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UsageView } from '@webcapture/shared/api/account.ts';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { fail, refreshOrderOf, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { type FileStore, StoreUnavailableError } from '@webcapture/shared/files/file-store.ts';
import { newRecord } from '../../harness/records.ts';
import { completedBy, resultOf, SettlingParts } from '../../harness/settling.ts';
import { until } from '../../harness/until.ts';
import { dataOf, send } from './accounts.ts';
import { fileStatus, type Holder, openHolder, startBackgroundFront } from './background.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startBackgroundFront();
});
afterAll(() => front[Symbol.asyncDispose]());

/** The header of a PNG of the stand-in renderer. */
const headBytes = 33;

/** Opens a capture whose files contain the given texts, one after the other: its own, and those of its refreshes. */
async function refreshed(history: number, texts: readonly string[], limits: object = {}) {
  const holder = await openHolder(front, limits);
  const show = (text: string) => (front.renderer.bytes = Buffer.from(text));
  show(texts[0] ?? '');
  const { uuid } = await holder.queue({ persistence: { enabled: true, history } });
  await holder.until(uuid, 'completed');
  const refresh = async (text: string) => {
    show(text);
    await holder.refresh(uuid);
    return until('the refresh to end', async () => {
      const { refresh: last } = await holder.record(uuid);
      return last?.endedAt === undefined ? null : last;
    });
  };
  for (const text of texts.slice(1)) await refresh(text);
  return { holder, uuid, refresh };
}

const filesOf = async ({ key }: Holder, uuid: string) =>
  dataOf<CaptureHistory>(await send(`${front.url}/captures/${uuid}/history`, key)).files;

async function textOf({ fileUrl }: { readonly fileUrl: string }): Promise<string> {
  const response = await fetch(fileUrl.replace('https://cdn.test', `${front.url}/files`));
  return Buffer.from(await response.arrayBuffer())
    .subarray(headBytes)
    .toString();
}

const usageOf = async ({ key }: Holder) => dataOf<UsageView>(await send(`${front.url}/usage`, key));

describe('a capture with a history', () => {
  test('keeps the latest files that refreshes have replaced, and serves them', async () => {
    const { holder, uuid } = await refreshed(2, ['first', 'second one', 'third', 'fourth']);
    const files = await filesOf(holder, uuid);
    expect(await Promise.all(files.map(textOf))).toEqual(['third', 'second one']);
    expect(files).toMatchObject([
      { replacedBy: 3, fileSizeBytes: headBytes + 5, width: 1280, height: 720 },
      { replacedBy: 2, fileSizeBytes: headBytes + 10 },
    ]);
    const times = files.map(({ capturedAt }) => capturedAt);
    expect(times).toEqual(times.toSorted().toReversed());
    const { fileUrl } = await holder.state(uuid);
    expect(await textOf({ fileUrl: String(fileUrl) })).toBe('fourth');
    // Each file name has its own secret, so no name can be derived from another one.
    const secrets = [String(fileUrl), ...files.map((file) => file.fileUrl)].map((url) => url.slice(-36, -4));
    expect(new Set(secrets).size).toBe(3);
  });

  test('removes the files that it keeps no longer', async () => {
    const { holder, uuid, refresh } = await refreshed(1, ['first', 'second']);
    const [oldest = { fileUrl: '' }] = await filesOf(holder, uuid);
    expect(await fileStatus(front, oldest)).toBe(200);
    await refresh('third');
    await until('the file to be removed', async () => ((await fileStatus(front, oldest)) === 404 ? true : null));
    expect(await Promise.all((await filesOf(holder, uuid)).map(textOf))).toEqual(['second']);
  });

  test('counts its files as stored bytes, and a refresh fails without room for them', async () => {
    const sizes = (...texts: string[]) => texts.reduce((sum, text) => sum + text.length + headBytes, 0);
    const texts = ['first', 'the second', 'third'] as const;
    const limits = { maxPersistedBytes: sizes(...texts) };
    const { holder, uuid, refresh } = await refreshed(3, texts, limits);
    expect((await usageOf(holder)).persistedBytes).toBe(sizes(...texts));
    expect(await refresh('x')).toMatchObject({ state: 'failed', failure: { code: 'QUOTA_EXCEEDED' } });
    expect((await usageOf(holder)).persistedBytes).toBe(sizes(...texts));
    expect(await filesOf(holder, uuid)).toHaveLength(2);
    expect(await holder.ledger()).toEqual(await holder.sumOfRecords());
    await holder.remove(uuid);
    expect((await usageOf(holder)).persistedBytes).toBe(0);
  });

  test('replaces its oldest file without further room', async () => {
    const limits = { maxPersistedBytes: 2 * (5 + headBytes) };
    const { refresh } = await refreshed(1, ['12345', '12346'], limits);
    expect(await refresh('12347')).toMatchObject({ state: 'completed' });
  });

  test('loses all files when it is deleted', async () => {
    const { holder, uuid } = await refreshed(3, ['first', 'second', 'third']);
    const files = await filesOf(holder, uuid);
    expect(files).toHaveLength(2);
    await holder.remove(uuid);
    for (const file of files) expect(await fileStatus(front, file)).toBe(404);
    expect(await filesOf(holder, uuid)).toEqual([]);
  });
});

test('a capture without a history keeps no earlier file', async () => {
  const { holder, uuid } = await refreshed(0, ['first', 'second']);
  expect(await filesOf(holder, uuid)).toEqual([]);
  expect((await holder.record(uuid)).refresh).not.toHaveProperty('earlierName');
});

describe('a front that dies while it settles a refresh', () => {
  const settling = () => new SettlingParts(front.nats.session);

  /** Returns a completed capture with a history, and the result of its refresh. */
  async function rendered() {
    const parts = settling();
    const { renderer } = front;
    const record = newRecord({
      account: 'dying',
      priority: 'background',
      persistence: { refreshIntervalMs: 0, history: 2 },
    });
    await parts.captures.create(record);
    renderer.bytes = Buffer.from('old');
    const first = await parts.jobOf(record);
    await parts.settle(resultOf(first, completedBy(await renderer.upload(first))));
    const order = refreshOrderOf(record, { by: 'request', region: 'us-east', acceptedAt: Date.now() });
    const started = (await parts.captures.change(record, startRefresh(order))) ?? record;
    renderer.bytes = Buffer.from('new');
    const job = await parts.jobOf(started, 1);
    return { parts, record: started, result: resultOf(job, completedBy(await renderer.upload(job))) };
  }

  /** A store whose process dies after it has put a file in place. */
  function dyingStore(): FileStore {
    const store = new EmbeddedStore(front.nats.session);
    store.accept = async (...upload) => {
      await EmbeddedStore.prototype.accept.apply(store, upload);
      throw new StoreUnavailableError();
    };
    return store;
  }

  const textsOf = async ({ earlierFiles = [] }: CaptureRecord) =>
    Promise.all(earlierFiles.map(({ name }) => textOf({ fileUrl: `https://cdn.test/${name}` })));

  test('leaves the earlier file to the front that settles the result next', async () => {
    const { parts, result, record } = await rendered();
    const dying = new SettlingParts(front.nats.session, dyingStore());
    await expect(dying.settle(result)).rejects.toThrow(StoreUnavailableError);
    const { record: settled } = await parts.settle(result);
    expect(await textsOf(settled ?? record)).toEqual(['old']);
    expect(settled?.earlierFiles).toMatchObject([{ name: record.refresh?.earlierName, replacedBy: 1 }]);
    // A repeated result changes nothing.
    const again = await parts.settle(result);
    expect(again).toMatchObject({ outcome: 'repeated', record: { earlierFiles: settled?.earlierFiles } });
    expect(await textsOf(again.record ?? record)).toEqual(['old']);
  });

  test('leaves no copy behind if the refresh fails meanwhile', async () => {
    const { parts, result, record } = await rendered();
    const name = record.refresh?.earlierName ?? '';
    const dying = new SettlingParts(front.nats.session, dyingStore());
    await expect(dying.settle(result)).rejects.toThrow(StoreUnavailableError);
    expect(await parts.store.stat(name)).not.toBeNull();
    await parts.captures.change(record, fail(1, { code: 'CAPTURE_TIMEOUT', message: 'Late.', cause: 'service' }));
    expect(await parts.settle(result)).toMatchObject({ outcome: 'ended' });
    expect(await parts.store.stat(name)).toBeNull();
  });
});
