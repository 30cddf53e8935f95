// A process that makes two hundred calls to a bucket that does not respond. It prints their results and its memory.
import process from 'node:process';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { loadStorage } from '@webcapture/shared/files/bounded-storage.ts';
import { GcsBucket } from '@webcapture/shared/files/gcs-bucket.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { newFile } from './records.ts';
import { until } from './until.ts';

const [bucket = '', endpoint = '', call = '', maxRequestBytes = ''] = process.argv.slice(2);
const size = 300_000;
const log = createLogger({ service: 'calls', pod: 'test', level: 'silent' });
const newStorage = await loadStorage();
const open = () => newStorage({ apiEndpoint: endpoint });
// The silence timeout is longer than the test, so calls end only because they are cancelled.
const options = { bucket, open, log, maxRequestBytes: Number(maxRequestBytes), silenceMs: 120_000 };
const store = new BucketStore(new GcsBucket(options));
const together = 20;

const stored = call === 'read' ? await store.create(newFile(size)) : null;

async function callOnce(): Promise<void> {
  const deadline = Date.now() + 150;
  if (call === 'create') await store.create(newFile(size, { deadline }));
  if (call === 'stat') await store.stat(newFile(1).name, { deadline });
  if (stored !== null) for await (const _ of store.read(stored, undefined, { deadline }));
}

async function burst(): Promise<number[]> {
  const calls = Array.from({ length: together }, async () => {
    const start = performance.now();
    const error = await callOnce().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof ServiceError) || error.code !== 'STORAGE_FAILED')
      throw new Error(`ended with ${String(error)}`);
    return performance.now() - start;
  });
  return Promise.all(calls);
}

/** Returns the memory of buffers after a garbage collection. */
function bytesHeld(): number {
  globalThis.gc?.();
  return process.memoryUsage().arrayBuffers;
}

// Modules and caches that the first calls load are not a leak.
await burst();
const times: number[] = [];
for (let turn = 0; turn < 200 / together; turn++) times.push(...(await burst()));
// Buffers count until the collector has swept them, which may take time.
await until('the buffers to be freed', () => bytesHeld() < 5 * size).catch(() => undefined);
const held = bytesHeld();
process.stdout.write(`${JSON.stringify({ calls: times.length, longestMs: Math.max(...times), held })}\n`);
// Runs until it is killed: the test counts its connections.
setInterval(() => undefined, 1000);
