import { setTimeout as sleep } from 'node:timers/promises';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { readHtml } from '@webcapture/shared/files/stored-html.ts';
import { isMessageMissing } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import { captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { type CaptureJob, type JobDelivery, jobOf, type UnsignedJob } from '@webcapture/shared/queue/job.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { ReturnReason } from '@webcapture/shared/queue/outcomes.ts';
import { type JobOutcome, type JobResult, parseResult } from '@webcapture/shared/queue/results.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { RenderEngine, Rendering, RenderRequest } from '../../../../services/renderer/page/engine.ts';
import { JobSource } from '../../../../services/renderer/worker/job-source.ts';
import { ResultPublisher } from '../../../../services/renderer/worker/publish-result.ts';
import { type JobDeps, type JobEnd, returnJob, runJob } from '../../../../services/renderer/worker/run-job.ts';
import { Slots } from '../../../../services/renderer/worker/slots.ts';
import { silentLog } from '../../../harness/nats-session.ts';
import { newRecord, plainReport, pngLike } from '../../../harness/records.ts';

/** The rendering of any page. */
export const picture = (size = 100): Rendering => ({
  bytes: pngLike(size, { width: 1280, height: 720 }),
  mimeType: 'image/png',
  width: 1280,
  height: 720,
  report: plainReport,
});

export interface TestRendererOptions extends Partial<Omit<JobDeps, 'engine'>> {
  readonly region?: Region;
  readonly slots?: number;
  readonly render?: RenderEngine['render'];
  readonly ready?: () => boolean;
}

/** A renderer without a browser: takes jobs, uploads files and publishes results as the process does. */
export class TestRenderer {
  readonly source: JobSource;
  readonly slots: Slots;
  /** Every delivery, with or without a free slot. */
  readonly taken: PulledMessage[] = [];
  readonly ended: JobEnd[] = [];
  readonly returned: ReturnReason[] = [];
  readonly rendered: RenderRequest[] = [];

  constructor(session: NatsSession, options: TestRendererOptions = {}) {
    const { region = 'us-east', slots = 1, render = async () => picture(), ready, ...changes } = options;
    const engine = {
      render: (request: RenderRequest) => {
        this.rendered.push(request);
        return render(request);
      },
    } as RenderEngine;
    const deps: JobDeps = {
      engine,
      uploader: new EmbeddedUploader(session),
      results: new ResultPublisher(session, 'pod'),
      readHtml: (name) => readHtml(session, { region, name }, 'by-subject'),
      reachesNats: async () => true,
      clock: session.clock,
      onEnd: (end) => this.ended.push(end),
      onReturn: ({ reason }) => this.returned.push(reason),
      log: silentLog,
      ...changes,
    };
    this.slots = new Slots({
      count: slots,
      run: (message, signal) => runJob(message, signal, deps),
      returnJob: (message, reason) => returnJob(message, reason, deps),
      ready: () => session.connected() && (ready?.() ?? true),
      onFree: () => this.source?.ask(),
    });
    this.source = new JobSource(session, {
      region,
      free: () => this.slots.free,
      onJob: (message) => {
        this.taken.push(message);
        this.slots.take(message);
      },
      log: silentLog,
    });
  }

  /** Stops the renderer as the process does. */
  async stop(graceMs = 0): Promise<void> {
    const drained = this.slots.drain(graceMs);
    this.source.close();
    await drained;
  }
}

/** Creates an engine that takes `ms` for each page, unless it is stopped. */
export const rendersIn =
  (ms: number): RenderEngine['render'] =>
  async ({ signal }) => {
    await sleep(ms, undefined, { signal });
    return picture();
  };

/** Queues captures as fronts do. */
export class TestQueue {
  readonly jobs: Jobs;
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
    this.jobs = new Jobs(session, new Tickets(session));
  }

  async publish(changes: Partial<CaptureRecord> = {}, delivery: JobDelivery = {}): Promise<UnsignedJob> {
    const job = jobOf(newRecord(changes), 0, delivery);
    await this.jobs.publish(job);
    return job;
  }

  /** Returns all results that wait to be settled, in order. Fails if a front could not read one of them. */
  async results(): Promise<JobResult[]> {
    const messages = await messagesOf(this.#session, streamNames.results);
    return messages.map((data) => {
      const result = parseResult(data);
      if (result === null) throw new Error(`not a result: ${Buffer.from(data).toString()}`);
      return result;
    });
  }

  async outcomes(): Promise<JobOutcome[]> {
    return (await this.results()).map(({ outcome }) => outcome);
  }

  /** Number of unacknowledged jobs. */
  async queued(): Promise<number> {
    return (await this.#session.jsm.streams.info(streamNames.captures)).state.messages;
  }

  interactive(region: Region = 'us-east') {
    return this.#session.jsm.consumers.info(streamNames.captures, captureDurable(region, 'interactive'));
  }
}

export async function messagesOf(session: NatsSession, stream: string): Promise<Uint8Array[]> {
  const { state } = await session.jsm.streams.info(stream);
  const found: Uint8Array[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
    try {
      const message = await session.jsm.streams.getMessage(stream, { seq });
      if (message !== null) found.push(message.data);
    } catch (error) {
      if (!isMessageMissing(error)) throw error;
    }
  }
  return found;
}

export const uuidOf = (message: PulledMessage): string =>
  (JSON.parse(new TextDecoder().decode(message.data)) as CaptureJob).uuid;
