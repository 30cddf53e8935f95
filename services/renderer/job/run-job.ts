import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { CaptureReport } from '@webcapture/shared/contract/capture-result.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import { retryWhileAway } from '@webcapture/shared/nats/retry.ts';
import { jobAckWaitMs, jobMaxDeliveries } from '@webcapture/shared/nats/streams.ts';
import type { Cache } from '@webcapture/shared/state/cache.ts';
import { deadlineOf } from '@webcapture/shared/state/capture-times.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { FollowUps } from '@webcapture/shared/state/follow-ups.ts';
import { failureOf, isOpen } from '@webcapture/shared/state/transitions.ts';
import { parseJob } from '@webcapture/shared/state/jobs.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { BrowserLostError } from '../browser/browser-lost-error.ts';
import type { RenderEngine, RenderSource } from '../capture/engine.ts';
import { replacedBefore } from './replaced-before.ts';
import { settleCache } from './settle-cache.ts';
import { storeFile } from './store-file.ts';

/** A job of a version that this renderer does not know goes back for so long: a newer renderer may be on its way. */
const unknownVersionDelayMs = 5000;

/** After a shutdown or a lost browser the next renderer may have it at once. */
const handBackDelayMs = 10;

/**
 * A server that was killed may have forgotten that it delivered the job, and then never answers the acknowledgement
 * (consumer.go, processAckMsg: a sequence beyond its pointer). It delivers the job again, and the record tells that
 * there is nothing to do: a slot must not wait for more than this.
 */
const ackPatienceMs = 2000;

export interface JobDeps {
  readonly engine: RenderEngine;
  readonly captures: Captures;
  readonly store: FileStore;
  readonly cache: Pick<Cache, 'fill' | 'release' | 'drop'>;
  readonly followUps: Pick<FollowUps, 'arrange'>;
  /** Html that was too large for the message. */
  readonly takeHtml: (fileName: string) => Promise<string>;
  readonly dropHtml: (fileName: string) => Promise<void>;
  /** Tells whoever waits for the capture how it ended. */
  readonly announce: (job: CaptureJob, record: CaptureRecord, bytes: Buffer | null) => void;
  readonly onEnd: (end: JobEnd) => void;
  readonly log: Logger;
}

/** How a job ended, for the metrics and the heartbeat. */
export interface JobEnd {
  readonly job: CaptureJob;
  readonly failure: CaptureFailure | null;
  readonly queueMs: number;
  /** Null when it was never rendered: its time had passed in the queue. */
  readonly renderMs: number | null;
  /** Tokens that it cost. */
  readonly tokens: number;
}

/**
 * Takes one job from delivery to its awaited acknowledgement: render, store, settle the record, announce, ack.
 * Never throws: what cannot be ended here (NATS away, this process stopping) is left to be delivered again.
 */
export async function runJob(message: PulledMessage, signal: AbortSignal, deps: JobDeps): Promise<void> {
  const heartbeat = setInterval(() => message.working(), jobAckWaitMs * 0.3);
  const answered = Promise.withResolvers<void>();
  try {
    const job = readJob(message, deps.log);
    if (job !== null) await runParsedJob(job, message, { signal, answered: answered.promise }, deps);
  } catch (error) {
    deps.log.error({ err: error, delivery: message.delivery }, 'a job could not be ended; it will be delivered again');
  } finally {
    answered.resolve();
    clearInterval(heartbeat);
  }
}

function readJob(message: PulledMessage, log: Logger): CaptureJob | null {
  try {
    const job = parseJob(message.data);
    if (job === null) message.handBack(unknownVersionDelayMs);
    return job;
  } catch (error) {
    log.error({ err: error }, 'a message in the queue is no job');
    message.terminate('not a job');
    return null;
  }
}

async function runParsedJob(
  job: CaptureJob,
  message: PulledMessage,
  { signal, answered }: { readonly signal: AbortSignal; readonly answered: Promise<void> },
  deps: JobDeps,
): Promise<void> {
  const log = deps.log.child({ uuid: job.uuid, account: job.account });
  const startedAt = Date.now();
  // A background capture has a day to begin; from then on it has as long as any other.
  const limits = { deadline: Math.min(job.deadline, deadlineOf(job.options, startedAt)) };
  const settle = async (record: CaptureRecord | null, bytes: Buffer | null = null) => {
    // Before the announcement: whoever has the answer and asks again is answered from the cache.
    if (record !== null) {
      await settleCache(job, record, deps, log);
      deps.announce(job, record, bytes);
      await deps.followUps.arrange(record);
    }
    try {
      await retryWhileAway(() => message.ack(), { deadline: Date.now() + ackPatienceMs });
    } catch (error) {
      log.warn(
        { err: error },
        'the end of a job was not acknowledged; if it is delivered again, nothing is done twice',
      );
    }
  };
  const fail = async (failure: CaptureFailure): Promise<CaptureRecord | null> => {
    const record = await retryWhileAway(() => deps.captures.fail(job, failure), limits);
    await settle(record);
    return record;
  };

  const queueMs = Math.max(0, startedAt - job.acceptedAt);
  if (startedAt > (message.delivery === 1 ? job.startBy : job.deadline)) {
    const failure = toFailure(
      new ServiceError('CAPTURE_TIMEOUT', 'The capture waited in the queue for longer than it may.'),
    );
    log.warn({ queueMs }, 'dropped a job that had passed its deadline');
    const record = await fail(failure);
    // It may have had another end long before.
    if (record !== null && failureOf(record, job.revision)?.message === failure.message)
      deps.onEnd({ job, failure, queueMs, renderMs: null, tokens: 0 });
    return;
  }
  const begun = await retryWhileAway(() => deps.captures.begin(job), limits);
  if (begun === null || !isOpen(begun, job.revision)) return settle(begun);

  const start = performance.now();
  const end = (failure: CaptureFailure | null, record: CaptureRecord | null = null) => {
    // Nothing is charged for one that had another end meanwhile.
    const tokens = record?.status === 'completed' ? begun.tokenCost : 0;
    deps.onEnd({ job, failure, queueMs, renderMs: performance.now() - start, tokens });
  };
  let done: { readonly record: CaptureRecord | null; readonly bytes: Buffer; readonly report: CaptureReport };
  try {
    const source = await loadSource(job, deps);
    const rendering = await deps.engine.render({
      source,
      options: job.options,
      // On a second delivery because it may be what brought down the browser that it shared.
      ownBrowser: job.isolation === 'browser' || message.delivery > 1,
      signal,
      answered,
      ...limits,
    });
    const { outcome, expiresAt } = await storeFile(rendering, { job, record: begun, queueMs, ...limits }, deps.store);
    const record = await retryWhileAway(() => deps.captures.complete(job, outcome, expiresAt), limits);
    done = { record, bytes: rendering.bytes, report: outcome.report };
  } catch (thrown) {
    if (signal.aborted || (isCollateral(thrown) && message.delivery < jobMaxDeliveries)) {
      log.warn({ err: thrown, delivery: message.delivery }, 'handing a capture back');
      message.handBack(handBackDelayMs);
      return;
    }
    const error = toServiceError(thrown);
    const replaced = message.delivery === 1 ? null : await replacedBefore(job, begun, deps.store);
    if (replaced !== null) {
      const { outcome, expiresAt } = replaced;
      const record = await retryWhileAway(() => deps.captures.complete(job, outcome, expiresAt), limits);
      await settle(record);
      end(null, record);
      return;
    }
    log.warn({ err: error, code: error.code, delivery: message.delivery }, 'a capture failed');
    await fail(toFailure(error));
    end(toFailure(error));
    return;
  }
  end(null, done.record);
  log.info({ region: job.region, format: job.options.format, ...done.report.timings }, 'captured');
  if (done.record?.status !== 'completed') await deps.store.remove(job.fileName);
  else await dropHtml(done.record, deps);
  await settle(done.record, done.bytes);
}

/** Html that nobody will render again goes as soon as its capture is there. */
async function dropHtml({ html, persistence, uuid }: CaptureRecord, deps: JobDeps): Promise<void> {
  if (html === undefined || persistence !== undefined) return;
  await deps.dropHtml(html).catch((error: unknown) => deps.log.debug({ err: error, uuid }, 'html was not removed'));
}

/** The browser went away under a capture: another page may have been the cause, so it gets another try. */
function isCollateral(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.cause instanceof BrowserLostError;
}

function toFailure(error: ServiceError): CaptureFailure {
  return { code: error.code, message: error.message };
}

async function loadSource({ source }: CaptureJob, deps: JobDeps): Promise<RenderSource> {
  return source.kind === 'stored-html' ? { kind: 'html', html: await deps.takeHtml(source.fileName) } : source;
}
