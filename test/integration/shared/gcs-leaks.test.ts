// @module-tag long
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startProcess } from '../../../deploy/local/process.ts';
import type { Fault } from '../../harness/fault-proxy.ts';
import { until } from '../../harness/until.ts';
import { megabyte, useFaultyBucket } from './support/faulty-bucket.ts';

const on = useFaultyBucket();

const never = { kind: 'wait', until: new Promise(() => undefined) } as const;

test.each([
  ['an upload that is not answered', 'POST', never, 'create', megabyte],
  ['a large one that is not', 'PUT', never, 'create', 100_000],
  ['a question that is not', 'GET', never, 'stat', megabyte],
  ['a reading that stops', 'GET', { kind: 'stall', afterBytes: 100_000 }, 'read', megabyte],
] as const satisfies readonly (readonly [string, string, Fault, string, number])[])(
  'two hundred calls with %s end within their deadlines, and leave no connections or buffers',
  async (_, method, fault, call, maxRequestBytes) => {
    on().proxy.always((request) => request.method === method, fault);
    const before = on().proxy.open();
    const lines: string[] = [];
    const calling = await startProcess({
      name: 'calling',
      command: process.execPath,
      args: [
        '--expose-gc',
        fileURLToPath(new URL('../../harness/given-up-calls-process.ts', import.meta.url)),
        on().bucket.bucket,
        on().proxy.url,
        call,
        String(maxRequestBytes),
      ],
      graceOnLossMs: 0,
      onLine: (line) => lines.push(line),
    });
    try {
      await until('the calls to be made', () => lines.length > 0);
      const { calls, longestMs, held } = JSON.parse(lines[0] ?? '') as Record<string, number>;
      expect(calls).toBe(200);
      expect(longestMs).toBeLessThan(8000);
      // Twenty calls run at the same time. If each of the 200 calls leaked its buffer, the sum would be far larger.
      expect(held).toBeLessThan(5 * 300_000);
      // The connections of the twenty calls that opened a large upload are kept for reuse.
      await until('the connections to be closed', () => on().proxy.open() - before <= 20);
    } finally {
      await calling.stop({ graceMs: 0 });
    }
  },
);
