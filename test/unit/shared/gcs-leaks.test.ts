import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { GcsError } from '@webcapture/shared/files/gcs-error.ts';
import type { Fault } from '../../harness/fault-proxy.ts';
import { newFile } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { bytesOf } from './support/store-suite.ts';
import { megabyte, useFaultyBucket } from './support/faulty-bucket.ts';

const on = useFaultyBucket();

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const size = 300_000;
const together = 20;

/** What buffers take in this process, proxy and all. */
function bytesHeld(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** Never answered; what the proxy has of it goes with the fault. */
const ignored = (): Fault => ({ kind: 'wait', until: new Promise(() => undefined) });

test.each([
  ['an upload that is not answered', 'POST', ignored, 'create', size],
  ['a large one that is not', 'PUT', ignored, 'create', 1.2 * megabyte],
  ['a question that is not', 'GET', ignored, 'stat', 0],
  ['a reading that stops', 'GET', () => ({ kind: 'stall', afterBytes: 100_000 }), 'read', 0],
] as const satisfies readonly (readonly [string, string, () => Fault, string, number])[])(
  'two hundred times %s: each ends within its deadline, no connection is left, and no bytes',
  async (_, broken, fault, call, bytes) => {
    const own = on().storeWith({ backoffMs: 1 });
    const stored = await own.create(newFile(size));
    // What is loaded and kept with the first one is no leak.
    await own.create(newFile(bytes));
    const once = async () => {
      const deadline = Date.now() + 150;
      const start = performance.now();
      const file = newFile(bytes, { deadline });
      const calling =
        call === 'create'
          ? own.create(file)
          : call === 'stat'
            ? own.stat(stored.name, { deadline })
            : bytesOf(own, stored, undefined, { deadline });
      // The errors are not handed to `expect`, which keeps them, and with them what their stacks refer to.
      const failure = await calling.then(
        () => 'none',
        (error: Error) => (error.cause as GcsError).failure,
      );
      if (failure !== 'connection') throw new Error(`it ended with ${failure}`);
      return performance.now() - start;
    };
    const burst = async () => {
      on().proxy.always(({ method }) => method === broken, fault());
      const times = await Promise.all(Array.from({ length: together }, once));
      on().proxy.heal();
      return Math.max(...times);
    };
    const before = bytesHeld();
    const times: number[] = [];
    for (let turn = 0; turn < 200 / together; turn++) times.push(await burst());
    expect(Math.max(...times)).toBeLessThan(8000);
    expect(on().proxy.open()).toBeLessThanOrEqual(2 * together);
    // Those that are kept for others are known, so that they can be closed.
    own.close();
    await until('the connections to be closed', () => on().proxy.open() === 0);
    await until('the bytes to be let go', () => bytesHeld() - before < 5 * size);
    // And the bucket is used as before.
    expect((await bytesOf(own, stored)).length).toBe(size);
    own.close();
  },
);
