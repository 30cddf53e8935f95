import type { CaptureProgress, CaptureStep } from '@webcapture/shared/api/capture-event.ts';
import { type CaptureRecord, toFailure } from '@webcapture/shared/captures/capture-record.ts';
import { maxSecretsBytes } from '@webcapture/shared/api/secret-options.ts';
import { deadlineOf } from '@webcapture/shared/captures/times.ts';
import { fail, isOpen } from '@webcapture/shared/captures/transitions.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { type CaptureSource, jobOf, type UnsignedJob } from '@webcapture/shared/queue/job.ts';
import { maxSealedSessionBytes } from '@webcapture/shared/queue/outcomes.ts';
import { toServiceError } from '@webcapture/shared/runtime/errors.ts';
import { type AcceptedRequest, type NewCapture, newRecord } from './accept-request.ts';
import { type AwaitDeps, type AwaitedResult, CaptureWaiter, type OnStep } from './await-end.ts';
import { acceptTimeoutMs, type HtmlStore, publishJob, putHtml } from './publish-job.ts';
import type { InFlight, RegionSelector } from './regions.ts';
import type { PendingReplies, ReplyInbox } from './reply-inbox.ts';

export interface DispatcherDeps extends AwaitDeps {
  readonly inbox: ReplyInbox;
  readonly regions: RegionSelector;
  readonly inFlight: InFlight;
  readonly htmlStore: HtmlStore;
  readonly store: FileStore;
  /** The server's limit for one message, in bytes. */
  readonly maxPayload: () => number;
  readonly queueTimeoutMs: number;
}

export interface DispatchOptions extends NewCapture {
  readonly wantsBytes: boolean;
  /** Called with each step. If undefined, renderers report no steps. */
  readonly onProgress?: ((progress: CaptureProgress) => void) | undefined;
}

/** Size of a job without its html and its record, with a margin. */
const jobOverheadBytes = 16 * 1024;

/** Sends captures with a waiting client to a region. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Returns the latest end of a capture that is accepted at this time; Unix milliseconds. */
  deadlineOf({ options }: AcceptedRequest, acceptedAt: number): number {
    return deadlineOf(options, acceptedAt + this.#deps.queueTimeoutMs);
  }

  /**
   * Chooses the region of a capture and creates its job, without publishing it. The record is written when the capture
   * ends. The caller must close the dispatch.
   *
   * @throws ServiceError REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR
   */
  async prepare(request: AcceptedRequest, options: DispatchOptions): Promise<Dispatch> {
    const { regions, inFlight, inbox, htmlStore, store, queueTimeoutMs } = this.#deps;
    const { uuid, wantsBytes } = options;
    const region = await regions.choose(request.region);
    const release = inFlight.add(region);
    const mailbox = inbox.open(uuid);
    const close = () => {
      inbox.close(uuid);
      release();
    };
    try {
      const record = newRecord(request, options, { region, waitMs: queueTimeoutMs });
      const source = record.html === undefined ? this.#sourceFor(request, record) : undefined;
      const job = jobOf(record, 0, {
        ...(source === undefined ? {} : { source }),
        ...(request.secrets === undefined || record.secrets !== undefined
          ? {}
          : { secrets: { clear: request.secrets } }),
        reply: {
          subject: inbox.subjectOf(region, uuid),
          wants: wantsBytes && !store.readsUploads ? 'bytes' : 'result',
          ...(options.onProgress === undefined ? {} : { progress: true }),
        },
      });
      if (job.source.kind === 'stored-html') await putHtml(htmlStore, job.source.fileName, request, record);
      const { onProgress } = options;
      const onStep = onProgress && ((step: CaptureStep) => onProgress({ uuid, region, step }));
      return new Dispatch(this.#deps, { record, job, mailbox, wantsBytes, onStep, close });
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Returns the source that the job contains. Large HTML is stored separately if the message would exceed the limit. */
  #sourceFor({ source, secrets }: AcceptedRequest, record: CaptureRecord): CaptureSource {
    if (source.kind === 'url') return source;
    const { uuid, region } = record;
    // The ticket contains a copy of the record in base64.
    const keptBytes = Buffer.byteLength(JSON.stringify(record)) * (1 + 4 / 3);
    const clearBytes = secrets === undefined || record.secrets !== undefined ? 0 : maxSecretsBytes;
    const sessionBytes = record.options.session === undefined ? 0 : maxSealedSessionBytes;
    const room = this.#deps.maxPayload() - jobOverheadBytes - keptBytes - clearBytes - sessionBytes;
    // A character takes at most six bytes in JSON.
    const fits = source.html.length * 6 <= room || Buffer.byteLength(JSON.stringify(source.html)) <= room;
    return fits ? source : { kind: 'stored-html', fileName: uuid, region };
  }
}

interface Prepared {
  readonly record: CaptureRecord;
  readonly job: UnsignedJob;
  readonly mailbox: PendingReplies;
  readonly wantsBytes: boolean;
  readonly onStep: OnStep | undefined;
  readonly close: () => void;
}

/** A prepared capture. It is published once, awaited, and closed. */
export class Dispatch {
  readonly #deps: DispatcherDeps;
  readonly #prepared: Prepared;

  constructor(deps: DispatcherDeps, prepared: Prepared) {
    this.#deps = deps;
    this.#prepared = prepared;
  }

  /** The record that is written when the capture ends. */
  get record(): CaptureRecord {
    return this.#prepared.record;
  }

  /**
   * Queues the capture and returns a waiter, which resolves when the capture has ended. For a failed capture, the waiter resolves to a
   * record with the failure.
   *
   * @throws ServiceError QUEUE_FULL, INTERNAL_ERROR
   */
  async publish(): Promise<CaptureWaiter> {
    const { jobs, now } = this.#deps;
    const { job, record, mailbox, wantsBytes, onStep } = this.#prepared;
    try {
      const queued = await publishJob(jobs, job, now() + acceptTimeoutMs);
      onStep?.('queued');
      return new CaptureWaiter(job, { queued, draft: record, mailbox, wantsBytes, onStep }, this.#deps);
    } catch (error) {
      this.#cancel(error);
      throw error;
    }
  }

  /** Stops receiving replies. `end` is the outcome of the capture, if it is known. */
  close(end: AwaitedResult | undefined): void {
    this.#prepared.close();
    if (end !== undefined) this.#removeHtml(end);
  }

  /** Fails the capture, because the job may be in the queue despite the error that the client receives. */
  #cancel(error: unknown): void {
    const { captures, now, log } = this.#deps;
    const { ticket, deadline } = this.#prepared.job;
    const failed = fail(0, toFailure(toServiceError(error)));
    retryTransient(() => captures.end(ticket, failed), { deadline, now }).catch((failure: unknown) =>
      log.debug(
        { err: failure, uuid: ticket.uuid },
        'the failure of a capture that was not queued could not be recorded',
      ),
    );
  }

  /** Removes HTML that will not be rendered again. If the removal fails, the HTML expires later. */
  #removeHtml({ record }: AwaitedResult): void {
    const { source } = this.#prepared.job;
    if (isOpen(record) || source.kind !== 'stored-html') return;
    if (record.html !== undefined && record.status === 'completed') return;
    this.#deps.htmlStore
      .remove(source.fileName)
      .catch((error: unknown) =>
        this.#deps.log.debug({ err: error }, 'supplied html could not be removed; it expires later'),
      );
  }
}
