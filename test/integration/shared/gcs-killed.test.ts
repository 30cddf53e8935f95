// @module-tag long
import { randomUUIDv7 } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { startProcess } from '../../../deploy/local/process.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../../harness/bucket.ts';
import { startFaultProxy, type FaultProxy } from '../../harness/fault-proxy.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { newFile } from '../../harness/records.ts';
import { bytesOf } from './support/stored-files.ts';

let bucket: TestBucket;
let proxy: FaultProxy;
beforeAll(async () => {
  bucket = await startTestBucket();
  proxy = await startFaultProxy(bucket.endpoint);
}, bucketSetUpMs);
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await bucket[Symbol.asyncDispose]();
});

const megabyte = 1024 * 1024;

test.each([
  ['in one request', 7 * megabyte, 'POST'],
  ['in a resumable one', 12 * megabyte, 'PUT'],
] as const)(
  'a process that is killed in the middle of an upload %s leaves no visible object',
  async (_, size, method) => {
    const name = newFileName(randomUUIDv7(), 'png');
    const taken = proxy.hold((request) => request.method === method, megabyte);
    const script = fileURLToPath(new URL('../../harness/upload-process.ts', import.meta.url));
    const lines: string[] = [];
    const uploading = await startProcess({
      name: 'uploading',
      command: process.execPath,
      args: [script, bucket.bucket, proxy.url, name, String(size)],
      graceOnLossMs: 0,
      onLine: (line) => lines.push(line),
    });
    await until('the upload to be in its middle', () => taken() >= megabyte);
    uploading.kill('SIGKILL');
    expect(await uploading.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(lines).toEqual([]);
    expect(taken()).toBeLessThan(size);
    expect(await bucket.objects()).toEqual([]);

    // The name is free for the renderer that gets the capture next.
    proxy.heal();
    const store = await openBucket({ bucket: bucket.bucket, endpoint: proxy.url, prefix: '' }, { log: silentLog });
    const file = newFile(1000, { name });
    expect((await bytesOf(store, await store.create(file))).equals(file.bytes)).toBe(true);
    await store.remove(name);
    store.close();
  },
);
