import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { captureJobVersion, type CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
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

const picture = { bytes: Buffer.from('a picture'), mimeType: 'image/png', width: 16, height: 16 } as const;
const render: RenderEngine['render'] = () => Promise.resolve({ ...picture, report: plainReport });

/** The file of a capture that a renderer has completed. */
async function fileOf(changes: Partial<CaptureRecord>) {
  const [captures, store] = [new Captures(nats.session), new EmbeddedStore(nats.session)];
  const record = newRecord({ uuid: randomUUIDv7(), ...changes });
  await captures.create(record);
  const { uuid, account, fileName, acceptedAt, startBy, deadline, options } = record;
  const job: CaptureJob = {
    version: captureJobVersion,
    uuid,
    revision: 0,
    account,
    fileName,
    acceptedAt,
    startBy,
    deadline,
    options,
    region: 'us-east',
    lane: 'background',
    wantsBytes: false,
    source: { kind: 'url', url: record.url },
  };
  const message = {
    subject: '',
    data: Buffer.from(JSON.stringify(job)),
    delivery: 1,
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
  return store.stat(fileName);
}

test('the file of a persisted capture, which may be refreshed, is not for caches to keep', async () => {
  expect(await fileOf({ persistence: { refreshIntervalMs: 0 } })).toMatchObject({ cacheSeconds: 300 });
});

test('the file of any other capture is', async () => {
  const file = await fileOf({});
  expect(file).toMatchObject({ size: picture.bytes.length });
  expect(file).not.toHaveProperty('cacheSeconds');
});
