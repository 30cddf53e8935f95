import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { Jobs } from '@webcapture/shared/state/jobs.ts';
import { decodeResult } from '@webcapture/shared/state/results.ts';
import { createMetrics } from '@webcapture/shared/telemetry/metrics.ts';
import { ControllerMetrics } from '../../../../services/controller/apply/metrics.ts';
import { Settler } from '../../../../services/controller/chores/settler.ts';
import { silentLog, startTestNats, type TestNats } from '../../../harness/nats-session.ts';

export interface Settling {
  readonly session: NatsSession;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly settler: Settler;
  /** Jobs in the queue, those that are held among them. */
  waiting(): Promise<number>;
  /** Advisories that nobody has dealt with. */
  letters(): Promise<number>;
  /** How many captures were settled for a reason. */
  settled(reason: string): Promise<number | undefined>;
  /** The next announcement of a capture. */
  listen(job: CaptureJob): { readonly record: Promise<CaptureRecord> };
}

/** Gives the tests of a file a real server, empty before each test, and what settles captures on it. */
export function useSettling(): () => Settling {
  let nats: TestNats;
  let current: Settling;
  beforeAll(async () => {
    nats = await startTestNats(['us-east', 'eu-west']);
  });
  beforeEach(async () => {
    for (const stream of [streamNames.captures, streamNames.dead]) await nats.session.jsm.streams.purge(stream);
    current = settlingOn(nats.session);
  });
  afterAll(() => nats[Symbol.asyncDispose]());
  return () => current;
}

function settlingOn(session: NatsSession): Settling {
  const registry = createMetrics('test');
  const captures = new Captures(session);
  const messagesIn = async (stream: string) => (await session.jsm.streams.info(stream)).state.messages;
  return {
    session,
    captures,
    jobs: new Jobs(session),
    settler: new Settler(session, captures, new ControllerMetrics(registry), silentLog),
    waiting: () => messagesIn(streamNames.captures),
    letters: () => messagesIn(streamNames.dead),
    settled: async (reason) => {
      const all = await registry.getMetricsAsJSON();
      const counter = all.find(({ name }) => name === 'webcapture_captures_settled_total');
      return counter?.values.find(({ labels }) => labels['reason'] === reason)?.value;
    },
    listen: (job) => {
      const { promise, resolve } = Promise.withResolvers<CaptureRecord>();
      const callback = (_: Error | null, message: { data: Uint8Array }) => resolve(decodeResult(message.data).record);
      session.nc.subscribe(job.resultSubject ?? '', { max: 1, callback });
      return { record: promise };
    },
  };
}
