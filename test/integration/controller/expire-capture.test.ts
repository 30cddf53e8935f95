import { describe, expect, test } from 'vitest';
import { streamNames, taskDurable } from '@webcapture/shared/nats/streams.ts';
import { overdueAt } from '@webcapture/shared/captures/times.ts';
import { begin, fail, remove, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { parseTask } from '@webcapture/shared/queue/tasks.ts';
import { diagnosticsType, extractedType } from '@webcapture/shared/api/formats.ts';
import { extractedName, newDiagnosticsName } from '@webcapture/shared/files/file-name.ts';
import { storeHtml, readHtml } from '@webcapture/shared/files/stored-html.ts';
import { expireCapture } from '../../../services/controller/jobs/expiry.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { expiriesOf } from '../../harness/queues.ts';
import { defaultOptions, newFile, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { hour, orderOf } from './support/refresh-order.ts';
import { useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();

describe('the expiry of captures:', () => {
  const place = { name: 'page', ttl: 3600 };
  const expiring = async (changes = {}) => {
    const { completed, cache, deps, ...rest } = tasking(on());
    const record = await completed({ account: 'expiry', cache: place, ...changes });
    await cache.fill('expiry', place, { ...record, expiresAt: Date.now() + hour });
    const task = { kind: 'expiry', account: 'expiry', uuid: record.uuid } as const;
    const left = async () => ({
      status: (await rest.stored(record))?.status,
      file: (await rest.store.stat(record.fileName)) !== null,
      cached: (await cache.get('expiry', place.name)).done?.record.uuid === record.uuid,
      html: await readHtml(on().session, { region: record.region, name: record.uuid }).then(
        () => true,
        () => false,
      ),
    });
    return { ...rest, deps, record, left, run: () => expireCapture(task, deps) };
  };

  test('the file of a capture that failed when its renderer died is removed', async () => {
    const { deps, store } = tasking(on());
    const record = newRecord({ account: 'expiry', priority: 'background' });
    await deps.captures.create(record);
    const { fileName: name, account, expiresAt } = record;
    await store.create(newFile(64, { name, account, expiresAt }));
    await on().failCapture(
      { ...record, revision: 0 },
      {
        reason: 'max_deliveries',
        failure: { code: 'CAPTURE_FAILED', message: 'died', cause: 'service' },
        unlessBegun: false,
      },
    );
    const message = await until('the task', () =>
      pullOne(on().session.nc, streamNames.tasks, taskDurable('expiry'), 5000),
    );
    const task = parseTask(message.data);
    await message.ack();
    if (task.kind !== 'expiry') throw new Error('another task');
    await expireCapture(task, deps);
    expect(await store.stat(name)).toBeNull();
  });

  test('a capture that has not expired yet is rescheduled for its expiry', async () => {
    const { run, left, record } = await expiring();
    await run();
    expect(await left()).toMatchObject({ status: 'completed', file: true, cached: true });
    expect(await expiriesOf(on().session, record.uuid)).toEqual([record.expiresAt]);
  });

  test('an expired capture loses its file, cache entry and HTML; a second run does no harm', async () => {
    const { run, left, record, dueAt } = await expiring({ expiresAt: Date.now() - 1 });
    await storeHtml(on().session, { region: record.region, name: record.uuid }, '<p>kept</p>', Date.now() + hour);
    const whole = { ...record, html: record.uuid };
    const { deps } = tasking(on());
    await deps.captures.change(record, () => whole);
    expect(await left()).toEqual({ status: 'completed', file: true, cached: true, html: true });
    const gone = { status: 'expired', file: false, cached: false, html: false };
    for (let times = 0; times < 2; times++) {
      await run();
      expect(await left()).toEqual(gone);
    }
    expect(await dueAt('expiry', record)).toBeNull();
  });

  test('content that was extracted from the page is removed with its file', async () => {
    const { run, record, store } = await expiring({
      expiresAt: Date.now() - 1,
      options: { ...defaultOptions, extract: ['text'] },
    });
    const name = extractedName(record.fileName);
    await store.create(newFile(64, { name, account: record.account, contentType: extractedType }));
    expect(await store.stat(name)).not.toBeNull();
    await run();
    expect(await store.stat(name)).toBeNull();
  });

  test('the diagnostics of a failed capture count as stored bytes until they expire and are removed', async () => {
    const { deps, store, stored } = tasking(on());
    const record = newRecord({ account: 'expiry', priority: 'background' });
    await deps.captures.create(record);
    const { account, fileName } = record;
    const name = newDiagnosticsName(fileName);
    await store.create(newFile(64, { name, account, contentType: diagnosticsType }));
    const failure = { code: 'CAPTURE_FAILED', message: 'it fails', cause: 'page' } as const;
    const diagnostics = { name, bytes: 64, revision: 0, expiresAt: Date.now() + hour };
    const failed = await deps.captures.change(record, fail(0, failure, diagnostics));
    if (failed === null) throw new Error('there is no record');
    await new FollowUps(deps.tasks, deps.expiryIndex).schedule(failed);
    expect(await expiriesOf(on().session, record.uuid)).toEqual([diagnostics.expiresAt]);
    // Every failed capture has this task.
    await expireCapture(record, deps);
    expect(await store.stat(name)).not.toBeNull();
    expect((await stored(record))?.bytes).toEqual({ storedBytes: 64 });
    await deps.captures.change(record, (at) => ({ ...at, diagnostics: { ...diagnostics, expiresAt: Date.now() - 1 } }));
    await expireCapture(record, deps);
    expect(await store.stat(name)).toBeNull();
    expect(await stored(record)).not.toHaveProperty('bytes');
  });

  test('a controller that dies before the cleanup leaves the rest to the next one', async () => {
    const { deps, left, record, run } = await expiring({ expiresAt: Date.now() - 1 });
    const dying = { ...deps, removeCaptureFiles: async () => Promise.reject(new Error('died')) };
    const task = { kind: 'expiry', account: 'expiry', uuid: record.uuid } as const;
    await expect(expireCapture(task, dying)).rejects.toThrow('died');
    expect(await left()).toMatchObject({ status: 'expired', file: true });
    await run();
    expect(await left()).toMatchObject({ status: 'expired', file: false, cached: false });
  });

  test('the data of a deleted capture is removed, and a running capture is not touched', async () => {
    const { deps, left, record, run } = await expiring();
    await deps.captures.change(record, remove);
    await run();
    expect(await left()).toMatchObject({ status: 'deleted', file: false, cached: false });

    const waiting = newRecord({ account: 'expiry', priority: 'background', expiresAt: 1 });
    await deps.captures.create(waiting);
    await expireCapture({ account: 'expiry', uuid: waiting.uuid }, deps);
    expect((await deps.captures.get('expiry', waiting.uuid))?.value).toEqual(waiting);
    await expireCapture({ account: 'expiry', uuid: newRecord().uuid }, deps);
  });

  test('if a capture is deleted during a refresh, its file is looked for again after the deadline', async () => {
    const { deps, record, run, dueAt } = await expiring({ expiresAt: Date.now() + hour });
    const order = orderOf(1);
    await deps.captures.change(record, startRefresh(order));
    await deps.captures.change(record, begin(1));
    await deps.captures.change(record, remove);
    await run();
    const due = (await dueAt('expiry', record)) ?? 0;
    expect(Math.abs(due - overdueAt(order.deadline))).toBeLessThan(1000);
  });
});
