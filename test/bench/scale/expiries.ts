import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import { captureKey, Captures } from '@webcapture/shared/captures/captures.ts';
import { removeCaptureFiles } from '@webcapture/shared/queue/follow-ups.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { startProcess } from '../../../deploy/local/process.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { eachOf } from '../../../services/controller/loops.ts';
import { ExpirySweep } from '../../../services/controller/jobs/expiry.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { startBenchNats } from '../front/parts.ts';

const minuteMs = 60_000;
const goalPerSecond = 2000;

export interface ExpiryRate {
  readonly captures: number;
  readonly perSecond: number;
  /** Processor time of the leader for each expiry. On a busy machine, it is more reliable than the rate. */
  readonly cpuMs: number;
  readonly goal: number;
}

/**
 * Runs the leader's expiry sweep on captures past their expiry. The records and the index are on a real server. The bucket is a separate
 * process that answers each removal after 50 ms.
 */
export async function measureExpiries(captures = 20_000): Promise<ExpiryRate> {
  await using parts = new AsyncDisposableStack();
  const { session } = await startBenchNats(parts);
  const log = createLogger({ service: 'bench', pod: 'bench', level: 'warn' });
  const files = await openBucket({ bucket: 'bench', endpoint: await startSlowBucket(parts), prefix: '' }, { log });
  parts.defer(() => files.close());
  const index = new ExpiryIndex(session);
  const now = Date.now();
  const records = Array.from({ length: captures }, (_, number) => {
    const expiresAt = now - minuteMs * (2 + (number % 10));
    return newRecord({ account: `a${number % 50}`, status: 'completed', outcome: newOutcome(), expiresAt });
  });
  await eachOf(records, 100, async (record) => {
    await session.js.publish(`$KV.db.${captureKey(record.account, record.uuid)}`, JSON.stringify(record));
    await index.add(record, record.expiresAt);
  });
  const cache = new Cache(session);
  let removed = 0;
  const sweep = new ExpirySweep({
    session,
    captures: new Captures(session),
    tasks: new Tasks(session),
    expiryIndex: index,
    removeCaptureFiles: async (record: CaptureRecord) => {
      await removeCaptureFiles(record, { store: files, cache, removeHtml: (name) => removeHtml(session, name) });
      removed++;
    },
    metrics: createControllerMetrics(createMetrics('bench')),
    log,
  });
  const start = performance.now();
  const cpu = process.cpuUsage();
  await sweep.pass({ holds: () => true });
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  if (removed !== captures) throw new Error(`${removed} of ${captures} captures ended`);
  return {
    captures,
    perSecond: Math.round(captures / seconds),
    cpuMs: (user + system) / 1000 / captures,
    goal: goalPerSecond,
  };
}

/** The process is separate, so that its processor time does not count for the leader. */
async function startSlowBucket(parts: AsyncDisposableStack): Promise<string> {
  let address = '';
  const bucket = await startProcess({
    name: 'slow bucket',
    command: process.execPath,
    args: [fileURLToPath(new URL('slow-bucket.ts', import.meta.url))],
    onLine: (line) => (address ||= line),
  });
  parts.defer(async () => void (await bucket.stop({ graceMs: 0 })));
  return until('the bucket to listen', () => address !== '' && address);
}
