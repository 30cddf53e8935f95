import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { deadlineOf, maxStoreRetryMs } from '@webcapture/shared/captures/times.ts';
import { type FileUploader, StoreUnavailableError } from '@webcapture/shared/files/file-store.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import { jobMaxDeliveries, jobProgressIntervalMs } from '@webcapture/shared/nats/streams.ts';
import type { CaptureJob, JobEnvelope } from '@webcapture/shared/queue/job.ts';
import { parseJob } from '@webcapture/shared/queue/jobs.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import {
  isRenderFailure,
  maxFailureLength,
  maxTextLength,
  type ReturnReason,
} from '@webcapture/shared/queue/outcomes.ts';
import {
  type ErrorCode,
  errorTable,
  type FailureCause,
  ServiceError,
  toServiceError,
} from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { withSpan } from '@webcapture/shared/tracing/spans.ts';
import { BrowserLostError } from '../browser/page.ts';
import { diagnosticsOf } from '../diagnostics/trace.ts';
import type { RenderEngine, Rendering, RenderSource } from '../page/engine.ts';
import { openSecrets, stateSealer } from './job-secrets.ts';
import type { DeliveredJob, ResultPublisher } from './publish-result.ts';
import type { Work } from './slots.ts';
import { traceJob, traceOutcome } from './trace-job.ts';
import { uploadFailure, uploadFiles, type Uploads } from './upload-files.ts';

/** Delay before a job is redelivered after its browser was lost. Another renderer may take it immediately. */
const nakDelayMs = 10;

/**
 * Timeout of an acknowledgement. A killed server may have lost the delivery of the job, and then never answers the acknowledgement
 * (consumer.go, processAckMsg: a sequence beyond its pointer). It redelivers the job, and the second result is redundant. Therefore a job
 * is not held for longer than this.
 */
const ackTimeoutMs = 2000;

/**
 * Time after the deadline until which a renderer tries to publish a result or a return while NATS is unavailable. After it, NATS redelivers
 * the job.
 */
const publishGraceMs = 10 * 60_000;

/** Maximum time until a page is closed. Usually it is closed after the reply, but a slow store must not keep pages open. */
const maxPageOpenMs = 250;

export interface JobDeps {
  readonly engine: RenderEngine;
  readonly uploader: FileUploader;
  readonly results: ResultPublisher;
  readonly secretsKeys?: SecretsKeys | undefined;
  /** Reads HTML that was too large for the message. */
  readonly readHtml: (name: string) => Promise<string>;
  /** Whether NATS answers now. */
  readonly reachesNats: () => Promise<boolean>;
  /** The server's clock. Until the server's time is known, it is this process's clock. */
  readonly clock: { readonly now: () => number; readonly isKnown: boolean };
  readonly onEnd: (end: JobEnd) => void;
  readonly onReturn: (returned: JobReturn) => void;
  readonly log: Logger;
}

/** Outcome of a job, for the metrics and the heartbeat. */
export interface JobEnd {
  readonly job: CaptureJob;
  /** Null if the capture completed, as far as the renderer knows. */
  readonly failure: { readonly code: ErrorCode; readonly cause: FailureCause } | null;
  readonly queueMs: number;
  /** Null if the job was not rendered because it expired in the queue. */
  readonly renderMs: number | null;
}

/** A job that was returned to the queue, for the metrics and the heartbeat. */
interface JobReturn {
  readonly reason: ReturnReason;
  /** Time for which the renderer had the job. */
  readonly heldMs: number;
}

/**
 * Processes one job from its delivery to its acknowledgement, which is awaited: renders, uploads, publishes the result, acknowledges. Never
 * rejects: NATS redelivers a job that cannot be completed here, for example because NATS is unavailable for too long.
 */
export function runJob(message: PulledMessage, signal: AbortSignal, deps: JobDeps): Work {
  const rendered = Promise.withResolvers<void>();
  const heartbeat = setInterval(() => message.working(), jobProgressIntervalMs);
  const done = run(message, signal, deps, rendered.resolve)
    .catch((error: unknown) => {
      deps.log.error({ err: error, delivery: message.delivery }, 'finishing a job failed; it will be delivered again');
    })
    .finally(() => {
      clearInterval(heartbeat);
      rendered.resolve();
    });
  return { rendered: rendered.promise, done };
}

/** Returns a job that was not rendered. A front or the controller queues it again, and the delivery does not count as an attempt. */
export async function returnJob(message: PulledMessage, reason: ReturnReason, deps: JobDeps): Promise<void> {
  try {
    await publishReturn({ job: parseJob(message.data), message }, reason, deps);
  } catch (error) {
    deps.log.warn({ err: error, reason }, 'returning a job failed; it will be delivered again');
    message.nak(nakDelayMs);
  }
}

/** Returns the deadline for returning a job when the renderer stops or has no slot. After it, NATS redelivers the job. */
const soon = () => ({ deadline: Date.now() + ackTimeoutMs });

interface Returning {
  readonly job: JobEnvelope;
  readonly message: PulledMessage;
  readonly takenAt?: number;
}

async function publishReturn(
  { job, message, takenAt = performance.now() }: Returning,
  reason: ReturnReason,
  deps: JobDeps,
  { deadline, signal }: { readonly deadline: number; readonly signal?: AbortSignal } = soon(),
): Promise<void> {
  const delivered = { job, delivery: message.delivery, takenAt };
  const outcome = { kind: 'returned', reason } as const;
  traceOutcome(outcome);
  await deps.results.publish(delivered, outcome, deadline, signal);
  deps.onReturn({ reason, heldMs: performance.now() - takenAt });
  await acknowledge(message, deps.log);
}

async function run(message: PulledMessage, signal: AbortSignal, deps: JobDeps, onRendered: () => void): Promise<void> {
  const job = read(message, deps.log);
  if (job === null) return;
  if ('isUnknown' in job) return returnJob(message, 'unknown_version', deps);
  await traceJob(message, job, deps.clock, () => processJob(job, message, signal, deps, onRendered));
}

async function processJob(
  job: CaptureJob,
  message: PulledMessage,
  signal: AbortSignal,
  deps: JobDeps,
  onRendered: () => void,
): Promise<void> {
  const log = deps.log.child({ uuid: job.uuid, account: job.account });
  const delivered = { job, delivery: message.delivery, takenAt: performance.now() };
  const limits = limitsOf(job, message, deps);
  let outcome: JobOutcome;
  try {
    if (limits.isLate)
      throw new ServiceError('CAPTURE_TIMEOUT', 'The capture waited in the queue for too long.', {
        causedBy: 'service',
      });
    outcome = await capture(delivered, limits, signal, deps, onRendered);
  } catch (thrown) {
    onRendered();
    const returning = { job, message, takenAt: delivered.takenAt };
    if (signal.aborted) return publishReturn(returning, 'shutting_down', deps);
    const reason = await returnReasonOf(thrown, job, deps);
    if (reason !== null) {
      log.warn(
        { err: thrown, reason, delivery: message.delivery },
        'background capture failed because of an outage; returning its job',
      );
      return publishReturn(returning, reason, deps, { deadline: limits.deadline + publishGraceMs, signal });
    }
    if (isCollateral(thrown) && message.delivery < jobMaxDeliveries) {
      log.warn(
        { err: thrown, delivery: message.delivery },
        'browser lost during a capture; its job will be delivered again',
      );
      message.nak(nakDelayMs);
      return;
    }
    const found = diagnosticsOf(thrown);
    const diagnostics = found && (await uploadFailure(found, job, deps));
    outcome = { ...failureOf(thrown), ...(diagnostics === undefined ? {} : { diagnostics }) };
    log.warn(
      { err: thrown, code: outcome.code, cause: outcome.cause, delivery: message.delivery, queueMs: limits.queueMs },
      'capture failed',
    );
  }
  traceOutcome(outcome);
  await deps.results.publish(delivered, outcome, limits.deadline + publishGraceMs, signal);
  await acknowledge(message, log);
  const renderMs = limits.isLate ? null : performance.now() - delivered.takenAt;
  const failure = outcome.kind === 'failed' ? outcome : null;
  deps.onEnd({ job, failure, queueMs: limits.queueMs, renderMs });
}

/**
 * Renders, uploads, and replies to the waiting front; throws the cause of a failure. `onRendered` is called when the slot is free for the
 * next job.
 */
async function capture(
  delivered: DeliveredJob & { readonly job: CaptureJob },
  { deadline, queueMs }: Limits,
  signal: AbortSignal,
  deps: JobDeps,
  onRendered: () => void,
): Promise<JobOutcome> {
  const { job, delivery } = delivered;
  const { engine, results, log } = deps;
  results.reply(delivered, { kind: 'started' });
  const answered = Promise.withResolvers<void>();
  let latest: NodeJS.Timeout | undefined;
  try {
    const source = await loadSource(job, deps);
    const secrets = openSecrets(job, deps);
    const sealState = job.keepsSession === true ? stateSealer(job, deps) : undefined;
    const rendering = await engine.render({
      source,
      options: job.options,
      ...(secrets === undefined ? {} : { secrets }),
      ...(sealState === undefined ? {} : { keepsSession: true }),
      ...(job.ignore === undefined ? {} : { ignore: job.ignore }),
      // If this is a second delivery, an earlier capture in the first browser may have caused the first one to fail.
      ownBrowser: job.isolation === 'browser' || delivery > 1,
      ...(job.isolation === 'account' && job.keepsSession !== true ? { reuseFor: job.account } : {}),
      signal,
      answered: answered.promise,
      deadline,
      takenAt: delivered.takenAt,
    });
    const capturedAt = performance.now();
    // The slot is free, because the following steps wait for the network and use little processor time.
    onRendered();
    results.reply(delivered, { kind: 'rendered' });
    latest = setTimeout(answered.resolve, maxPageOpenMs);
    const { sent, stored } = uploadFiles(rendering, job, deadline, deps);
    const session = rendering.session && sealState?.(rendering.session);
    const completed = (uploads: Uploads) => {
      const now = performance.now();
      const ageMs = now - capturedAt;
      const report = reportOf(rendering, queueMs, now - delivered.takenAt);
      const { pages, ignored } = rendering;
      const facts = {
        ...(pages === undefined ? {} : { pages }),
        ...(ignored === undefined ? {} : { ignored }),
        ...(session === undefined ? {} : { session }),
      };
      return { kind: 'completed', ...uploads, ...facts, report, ageMs } as const;
    };
    const uploads = await withSpan('store', { startTime: capturedAt }, async () => {
      // The waiting front gets the reply as early as possible. The authoritative result follows when the file is stored.
      results.reply(delivered, completed(await sent), rendering.bytes);
      return stored;
    });
    const outcome = completed(uploads);
    log.info(
      { uuid: job.uuid, region: job.region, format: job.options.format, ...outcome.report.timings },
      'capture completed and stored',
    );
    return outcome;
  } finally {
    clearTimeout(latest);
    answered.resolve();
  }
}

function failureOf(thrown: unknown): Extract<JobOutcome, { kind: 'failed' }> {
  const { code, message, causedBy } = toServiceError(thrown);
  // The message may contain an address of the page, and fronts refuse messages that are too long.
  return {
    kind: 'failed',
    ...(isRenderFailure(code) ? { code, cause: causedBy } : { code: 'INTERNAL_ERROR', cause: 'service' }),
    message: message.slice(0, maxFailureLength) || errorTable[code].message,
  };
}

function read(message: PulledMessage, log: Logger): ReturnType<typeof parseJob> | null {
  try {
    return parseJob(message.data);
  } catch (error) {
    log.error({ err: error }, 'discarding a message that is not a capture job');
    message.terminate('not a job');
    return null;
  }
}

interface Limits {
  /** Unix milliseconds on this process's clock. */
  readonly deadline: number;
  readonly queueMs: number;
  readonly isLate: boolean;
}

/**
 * Converts the times of a job from the server's clock to this process's clock. While the server's time is unknown, no job counts as late;
 * the front that waits for the capture ends it.
 */
function limitsOf(
  { options, acceptedAt, startBy, deadline }: CaptureJob,
  message: PulledMessage,
  { clock }: JobDeps,
): Limits {
  const now = clock.isKnown ? clock.now() : null;
  // A background capture may start within 24 hours. After its start it has the same timeout as any other.
  const renderMs = deadlineOf(options, 0);
  return {
    deadline: Date.now() + (now === null ? renderMs : Math.min(renderMs, deadline - now)),
    queueMs: Math.max(0, (now ?? message.timestamp) - acceptedAt),
    isLate: now !== null && now > (message.delivery === 1 ? startBy : deadline),
  };
}

/** @param elapsedMs time since the job was taken, which is the sum of the steps except `queueMs` */
function reportOf({ report }: Rendering, queueMs: number, elapsedMs: number) {
  const { openMs, navigateMs, settleMs, shootMs } = report.timings;
  const storeMs = Math.max(0, elapsedMs - openMs - navigateMs - settleMs - shootMs);
  const timings = { queueMs, openMs, navigateMs, settleMs, shootMs, storeMs };
  const rounded = Object.fromEntries(Object.entries(timings).map(([name, ms]) => [name, Math.round(ms)]));
  // The page determines the length of its addresses, and fronts refuse addresses that are too long.
  const finalUrl = report.finalUrl.slice(0, maxTextLength);
  const responseUrl = report.responseUrl?.slice(0, maxTextLength) ?? null;
  return { ...report, finalUrl, responseUrl, timings: rounded as typeof timings };
}

async function acknowledge(message: PulledMessage, log: Logger): Promise<void> {
  try {
    await message.ack(ackTimeoutMs);
  } catch (error) {
    log.warn({ err: error }, 'acknowledging a job failed; if it is delivered again, its second result is ignored');
  }
}

/** Whether the browser exited during a capture, possibly through another page. The capture gets another attempt. */
function isCollateral(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.cause instanceof BrowserLostError;
}

/** Failures that any page would have on a renderer without a network. */
const networkFailures: readonly ErrorCode[] = ['NAVIGATION_FAILED', 'CAPTURE_TIMEOUT'];

/**
 * Returns the reason why a failed background capture is rendered again within its 24 hours, which is a temporary outage. Returns null if it
 * ends as failed, like an interactive capture.
 */
async function returnReasonOf(
  thrown: unknown,
  { priority, startBy }: CaptureJob,
  { clock, reachesNats }: JobDeps,
): Promise<ReturnReason | null> {
  if (priority !== 'background' || clock.now() + maxStoreRetryMs >= startBy) return null;
  if (thrown instanceof StoreUnavailableError) return 'store_unavailable';
  const isNetworkFailure = thrown instanceof ServiceError && networkFailures.includes(thrown.code);
  return isNetworkFailure && !(await reachesNats()) ? 'cut_off' : null;
}

async function loadSource({ source }: CaptureJob, { readHtml }: JobDeps): Promise<RenderSource> {
  return source.kind === 'stored-html' ? { kind: 'html', html: await readHtml(source.fileName) } : source;
}
