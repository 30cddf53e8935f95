import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { jobOf } from '@webcapture/shared/state/job-of.ts';
import { startRefresh } from '@webcapture/shared/state/transitions.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import type { RenderEngine } from '../../../services/renderer/capture/engine.ts';
import { runJob } from '../../../services/renderer/job/run-job.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord, plainReport } from '../../harness/records.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** An engine that makes the same file of every page. */
const showing =
  (text: string): RenderEngine['render'] =>
  async () => ({ bytes: Buffer.from(text), mimeType: 'image/png', width: 16, height: 16, report: plainReport });
const failing: RenderEngine['render'] = () =>
  Promise.reject(new ServiceError('NAVIGATION_FAILED', 'The page is down.'));

/** A capture that is accepted, and a renderer that is given its jobs. */
async function accepted(changes: Partial<CaptureRecord> = {}) {
  const [captures, store] = [new Captures(nats.session), new EmbeddedStore(nats.session)];
  const created = newRecord(changes);
  await captures.create(created);
  const record = async () => {
    const found = await captures.get(created.account, created.uuid);
    if (found === null) throw new Error('there is no record');
    return found.value;
  };
  return {
    captures,
    store,
    record,
    file: () => store.stat(created.fileName),
    run: async (render: RenderEngine['render'], { revision = 0, delivery = 1 } = {}) => {
      const message = {
        subject: '',
        data: Buffer.from(JSON.stringify(jobOf(await record(), revision))),
        delivery,
        sequence: 1,
        working: () => undefined,
        ack: () => Promise.resolve(),
        handBack: () => undefined,
        terminate: () => undefined,
      };
      await runJob(message, new AbortController().signal, {
        engine: { render } as RenderEngine,
        captures,
        store,
        cache: { fill: () => Promise.resolve(), release: () => Promise.resolve(), drop: () => Promise.resolve() },
        takeHtml: () => Promise.resolve(''),
        dropHtml: () => Promise.resolve(),
        followUps: { arrange: () => Promise.resolve() },
        announce: () => undefined,
        onEnd: () => undefined,
        log: silentLog,
      });
    },
    refresh: async (revision: number) => {
      const { startBy, deadline } = await record();
      const order = { revision, by: 'request', region: 'us-east', acceptedAt: Date.now(), startBy, deadline } as const;
      await captures.change(created, startRefresh(order));
    },
  };
}

test('the file of a persisted capture, which may be refreshed, is not for caches to keep', async () => {
  const { run, file } = await accepted({ persistence: { refreshIntervalMs: 0 } });
  await run(showing('a picture'));
  expect(await file()).toMatchObject({ cacheSeconds: 300 });
});

test('the file of any other capture is', async () => {
  const { run, file } = await accepted();
  await run(showing('a picture'));
  expect(await file()).toMatchObject({ size: 9 });
  expect(await file()).not.toHaveProperty('cacheSeconds');
});

test('a refresh replaces the file and its time is not put off; one that fails changes nothing', async () => {
  const { run, refresh, file, record } = await accepted();
  await run(showing('before'));
  const before = await file();
  await refresh(1);
  await run(failing, { revision: 1 });
  expect(await file()).toEqual(before);
  expect(await record()).toMatchObject({ status: 'completed', refresh: { state: 'failed' } });
  await refresh(2);
  await run(showing('afterwards'), { revision: 2 });
  expect(await file()).toMatchObject({ size: 10, expiresAt: before?.expiresAt, cacheSeconds: 300 });
  expect(await record()).toMatchObject({ refresh: { state: 'completed' }, outcome: { fileSizeBytes: 10 } });
});

test('a refresh whose renderer died after it had replaced the file is done, although it cannot be rendered again', async () => {
  const { run, refresh, file, record, store } = await accepted();
  await run(showing('before'));
  await refresh(1);
  const before = await file();
  if (before === null) throw new Error('there is no file');
  await store.replace({ ...before, account: 'acme', bytes: Buffer.from('replaced'), width: 20 }, before);
  await run(failing, { revision: 1, delivery: 2 });
  expect(await file()).toMatchObject({ size: 8 });
  expect(await record()).toMatchObject({
    refresh: { state: 'completed' },
    outcome: { fileSizeBytes: 8, width: 20 },
    refreshCharges: { [new Date().toISOString().slice(0, 7).replace('-', '')]: { tokens: 1, captures: 1 } },
  });
});

test('one whose renderer died before that fails', async () => {
  const { run, refresh, record } = await accepted();
  await run(showing('before'));
  // Its time is told from that of the file in milliseconds.
  await new Promise((resolve) => setTimeout(resolve, 2));
  await refresh(1);
  await run(failing, { revision: 1, delivery: 2 });
  expect(await record()).toMatchObject({ status: 'completed', refresh: { state: 'failed' } });
});
