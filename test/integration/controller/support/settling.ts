import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { CaptureOutcome, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { Captures, type CaptureRef } from '@webcapture/shared/captures/captures.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import type { UnsignedJob } from '@webcapture/shared/queue/job.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { decodeReply, type JobResult } from '@webcapture/shared/queue/results.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { complete } from '@webcapture/shared/captures/transitions.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { type ControllerMetrics, createControllerMetrics } from '../../../../services/controller/health/metrics.ts';
import { createFailCapture, type FailCapture } from '../../../../services/controller/recovery/fail-capture.ts';
import { silentLog, startTestNats, type TestNats } from '../../../harness/nats-session.ts';

export interface Settling {
  readonly session: NatsSession;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly followUps: FollowUps;
  readonly failCapture: FailCapture;
  /** The number of jobs in the queue, including those that renderers hold. */
  waiting(): Promise<number>;
  /** The number of advisories that are not settled yet. */
  letters(): Promise<number>;
  /** The number of captures that were settled for a reason. */
  settled(reason: string): Promise<number | undefined>;
  /** Waits for the next reply about a job, as a front does. */
  listen(job: UnsignedJob): { readonly result: Promise<JobResult> };
}

/** Completes a capture, or a refresh, as a front does with the result of a renderer. */
export async function completeCapture(
  captures: Captures,
  ref: CaptureRef & { readonly draft?: CaptureRecord },
  outcome: CaptureOutcome,
  expiresAt: number,
): Promise<CaptureRecord | null> {
  return (await captures.end(ref, complete(ref.revision ?? 0, outcome, expiresAt))).record;
}

/** Gives the tests of a file a real server, empty before each test, and the tools that settle captures on it. */
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
    jobs: new Jobs(session, new Tickets(session)),
    ...ending(session, createControllerMetrics(registry)),
    waiting: () => messagesIn(streamNames.captures),
    letters: () => messagesIn(streamNames.dead),
    settled: async (reason) => {
      const all = await registry.getMetricsAsJSON();
      const counter = all.find(({ name }) => name === 'webcapture_captures_settled_total');
      return counter?.values.find(({ labels }) => labels['reason'] === reason)?.value;
    },
    listen: ({ reply }) => {
      const { promise, resolve } = Promise.withResolvers<JobResult>();
      session.nc.subscribe(reply?.subject ?? '', {
        max: 1,
        callback: (_error, { data }) => {
          const heard = decodeReply(data);
          if (heard !== null) resolve(heard.result);
        },
      });
      return { result: promise };
    },
  };
}

/** Creates what ends captures, as the controller does. */
export function ending(session: NatsSession, metrics: ControllerMetrics): Pick<Settling, 'followUps' | 'failCapture'> {
  const followUps = new FollowUps(new Tasks(session), new ExpiryIndex(session));
  const captures = new Captures(session);
  return { followUps, failCapture: createFailCapture({ session, captures, followUps, metrics, log: silentLog }) };
}
