import { setTimeout as sleep } from 'node:timers/promises';
import { heartbeatIntervalMs, type RendererHeartbeat } from '@webcapture/shared/contract/heartbeat.ts';
import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureOutcome } from '@webcapture/shared/contract/capture-record.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { sayGoodbye, sayHeartbeat } from '@webcapture/shared/state/fleet.ts';
import { encodeResult } from '@webcapture/shared/state/results.ts';
import { canaryViewport } from '../../../../services/controller/chores/canary-job.ts';
import { heartbeat } from './facts.ts';

/** Something that says heartbeats and answers jobs as a renderer does, without a browser. */
export class StandInRenderer {
  readonly #session: NatsSession;
  readonly #region: Region;
  readonly #pod: string;
  readonly #aborter = new AbortController();
  readonly #running: Promise<unknown>;
  /** What it does with jobs, and says of itself; may be changed at any time. */
  behaviour: 'answer' | 'fail' | 'ignore' = 'answer';
  says: Partial<RendererHeartbeat> = {};
  readonly seen: CaptureJob[] = [];
  /** On the monotonic clock. */
  lastBeatAt = 0;

  constructor(session: NatsSession, region: Region, pod: string) {
    this.#session = session;
    this.#region = region;
    this.#pod = pod;
    this.#running = Promise.all([this.#beat(), this.#work()]);
  }

  /** Falls silent, as if it had been killed. */
  async die(): Promise<void> {
    this.#aborter.abort();
    await this.#running;
  }

  async leave(): Promise<void> {
    await this.die();
    await sayGoodbye(new Entries(this.#session, 'live'), this.#region, this.#pod);
  }

  async #beat(): Promise<void> {
    const live = new Entries(this.#session, 'live');
    const { signal } = this.#aborter;
    while (!signal.aborted) {
      const word = heartbeat(this.#pod, { region: this.#region, at: Date.now(), ...this.says });
      this.lastBeatAt = performance.now();
      await withDeadline(sayHeartbeat(live, word), heartbeatIntervalMs, 'a heartbeat').catch(() => undefined);
      await sleep(heartbeatIntervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #work(): Promise<void> {
    const durable = captureDurable(this.#region, 'interactive');
    while (!this.#aborter.signal.aborted) {
      try {
        const message =
          this.behaviour === 'ignore' ? null : await pullOne(this.#session.nc, streamNames.captures, durable, 200);
        if (message === null) await sleep(20);
        else {
          await this.#answer(JSON.parse(new TextDecoder().decode(message.data)) as CaptureJob);
          await message.ack();
        }
      } catch {
        await sleep(100);
      }
    }
  }

  async #answer(job: CaptureJob): Promise<void> {
    this.seen.push(job);
    const captures = new Captures(this.#session);
    await captures.begin(job);
    const record =
      this.behaviour === 'fail'
        ? await captures.fail(job, { code: 'CAPTURE_FAILED', message: 'The browser is unwell.' })
        : await captures.complete(job, outcomeOf(job), Date.now() + 60_000);
    if (record !== null && job.resultSubject !== undefined) {
      this.#session.nc.publish(job.resultSubject, encodeResult(record, null, 1_000_000));
    }
  }
}

function outcomeOf(job: CaptureJob): CaptureOutcome {
  return {
    region: job.region,
    mimeType: 'image/png',
    fileSizeBytes: 100,
    width: canaryViewport.width,
    height: canaryViewport.height,
    capturedAt: Date.now(),
    report: {
      httpStatus: null,
      finalUrl: 'about:blank',
      title: '',
      images: { loaded: 0, failed: 0, pending: 0 },
      blockedRequests: 0,
      softTimeouts: [],
      truncated: false,
      blank: false,
      challenge: false,
      timings: { queueMs: 0, navigateMs: 0, settleMs: 0, shootMs: 0, storeMs: 0 },
    },
  };
}
