import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { mimeTypes } from '@webcapture/shared/contract/formats.ts';
import type { RendererHeartbeat } from '@webcapture/shared/contract/heartbeat.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import { Cache } from '@webcapture/shared/state/cache.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { FollowUps } from '@webcapture/shared/state/follow-ups.ts';
import { sayGoodbye, sayHeartbeat } from '@webcapture/shared/state/fleet.ts';
import { parseJob } from '@webcapture/shared/state/jobs.ts';
import { encodeResult } from '@webcapture/shared/state/results.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import { Tasks } from '@webcapture/shared/state/tasks.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import { Lanes } from '../../../services/renderer/job/lanes.ts';
import { newOutcome } from '../../harness/records.ts';

/** What the stand-in does with one job; the default is to complete it at once. */
export type Behaviour = (job: CaptureJob, renderer: StandInRenderer) => Promise<void>;

/** Stands in for the renderers of a region: it pulls jobs as they do and ends them without a browser. */
export class StandInRenderer {
  readonly session: NatsSession;
  readonly region: Region;
  readonly captures: Captures;
  readonly cache: Cache;
  readonly store: EmbeddedStore;
  readonly followUps: FollowUps;
  /** Every job that it was given, in order. */
  readonly jobs: CaptureJob[] = [];
  behaviour: Behaviour = (job, renderer) => renderer.complete(job);
  bytes = Buffer.from('the bytes of a picture');
  /** Of the files that it stores. */
  lifetimeMs = 60_000;
  readonly #stop = new AbortController();
  readonly #lanes: Lanes;
  readonly #loops: Promise<void>[] = [];

  constructor(session: NatsSession, region: Region) {
    this.session = session;
    this.region = region;
    this.#lanes = new Lanes((stream, durable, waitMs) => pullOne(session.nc, stream, durable, waitMs), region);
    this.captures = new Captures(session);
    this.cache = new Cache(session);
    this.store = new EmbeddedStore(session);
    this.followUps = new FollowUps(new Tasks(session));
  }

  /** Says that it is there and pulls jobs, `slots` at a time. */
  async start(slots = 2): Promise<void> {
    await this.say({ slots });
    const timer = setInterval(() => void this.say({ slots }).catch(() => undefined), 1000);
    this.#stop.signal.addEventListener('abort', () => clearInterval(timer));
    for (let slot = 0; slot < slots; slot++) this.#loops.push(this.#serve());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    await sayGoodbye(new Entries(this.session, 'live'), this.region, `stand-in-${this.region}`).catch(() => undefined);
  }

  async say(words: Partial<RendererHeartbeat> = {}): Promise<void> {
    await sayHeartbeat(new Entries(this.session, 'live'), {
      pod: `stand-in-${this.region}`,
      region: this.region,
      version: '0',
      slots: 2,
      busy: 0,
      browser: 'up',
      draining: false,
      recent: { ended: 0, failedByUs: 0, queueWaitP95Ms: 0 },
      at: Date.now(),
      ...words,
    });
  }

  /**
   * Stores the file, settles the record and announces it, unless it has ended already; with `silently`, the announcement
   * gets lost.
   */
  async complete(job: CaptureJob, options: { silently?: boolean } = {}): Promise<void> {
    const begun = await this.captures.begin(job);
    if (begun === null || !isOpen(begun, job.revision)) return this.announce(job, begun);
    const { format, viewport } = job.options;
    const stored = await this.store.create({
      name: job.fileName,
      account: job.account,
      bytes: this.bytes,
      contentType: mimeTypes[format],
      expiresAt: Date.now() + this.lifetimeMs,
      width: viewport.width,
      height: viewport.height,
    });
    const outcome = newOutcome({
      region: this.region,
      mimeType: mimeTypes[format],
      fileSizeBytes: stored.size,
      width: viewport.width,
      height: viewport.height,
    });
    const record = await this.captures.complete(job, outcome, stored.expiresAt);
    if (record !== null && job.cache !== undefined) await this.cache.fill(job.account, job.cache, record);
    if (options.silently !== true) this.announce(job, record);
    if (record !== null) await this.followUps.arrange(record);
  }

  async fail(job: CaptureJob, code: 'NAVIGATION_FAILED', message: string): Promise<void> {
    const record = await this.captures.fail(job, { code, message });
    if (job.cache !== undefined) await this.cache.release(job.account, job.cache.name, job.uuid);
    this.announce(job, record);
    if (record !== null) await this.followUps.arrange(record);
  }

  announce(job: CaptureJob, record: CaptureRecord | null): void {
    if (job.resultSubject === undefined || record === null) return;
    const bytes = job.wantsBytes && record.status === 'completed' ? this.bytes : null;
    this.session.nc.publish(job.resultSubject, encodeResult(record, bytes, this.session.nc.info?.max_payload ?? 0));
  }

  async #serve(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const message = await this.#lanes.next().catch(() => null);
      if (message !== null) await this.#run(message);
    }
  }

  async #run(message: PulledMessage): Promise<void> {
    const job = parseJob(message.data);
    if (job === null) return;
    this.jobs.push(job);
    await this.behaviour(job, this);
    await message.ack().catch(() => undefined);
  }
}
