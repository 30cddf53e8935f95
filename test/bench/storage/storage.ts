import process from 'node:process';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { startTestBucket } from '../../harness/bucket.ts';
import { startQueue } from '../front/parts.ts';
import { measureStores, steps, type StoreTimes } from './measure-stores.ts';

const sizes = [
  { name: '300 KB', bytes: 300_000, rounds: 60 },
  { name: '10 MB', bytes: 10_000_000, rounds: 15 },
] as const;

/**
 * Compares the embedded store with a bucket on this machine. The bucket is an emulator in memory, without network latency, so that the
 * result shows the cost of our client.
 */
export async function benchStorage(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const bucket = parts.use(await startTestBucket());
  const log = createLogger({ service: 'bench', pod: 'bench', level: 'fatal' });
  const files = await openBucket({ bucket: bucket.bucket, endpoint: bucket.endpoint, prefix: '' }, { log });
  parts.defer(() => files.close());
  const stores = { embedded: new EmbeddedStore(session), bucket: files };
  for (const { name, bytes, rounds } of sizes) {
    print(`Files of ${name}, ${rounds} alternating rounds`, bytes, await measureStores(stores, { bytes, rounds }));
  }
}

function print(title: string, bytes: number, times: StoreTimes): void {
  process.stdout.write(`\n${title}\n`);
  for (const step of steps) {
    const base = times.get('embedded')?.[step].p50 ?? Number.NaN;
    for (const [name, { [step]: result }] of times) {
      const [p50, p99] = [result.p50, result.p99].map((ms) => ms.toFixed(1).padStart(8));
      const rate = step === 'stat' ? '' : `${(bytes / 1e3 / result.p50).toFixed(0)} MB/s`;
      const ratio = (result.p50 / base).toFixed(2);
      process.stdout.write(
        `${`${step} ${name}`.padEnd(20)} p50${p50}  p99${p99} ms  ${rate.padStart(10)}  ratio ${ratio}\n`,
      );
    }
  }
}
