import type { CachePlace, CaptureSource } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Isolation } from '@webcapture/shared/contract/isolation.ts';
import { toServiceError } from '@webcapture/shared/errors/service-error.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { deadlineOf } from '@webcapture/shared/state/capture-times.ts';
import { jobOf, type UnsignedJob } from '@webcapture/shared/state/job-of.ts';
import { fail, isOpen } from '@webcapture/shared/state/transitions.ts';
import type { AcceptedRequest } from './accept-request.ts';
import { EndWaiter, type AwaitDeps, type AwaitedEnd } from './await-end.ts';
import { buildRecord } from './build-record.ts';
import { acceptMs, publishJob } from './publish-job.ts';
import type { HtmlParcels } from './html-parcels.ts';
import type { InFlight } from './in-flight.ts';
import type { RegionBoard } from './region-board.ts';
import type { ReplyInbox } from './reply-inbox.ts';

export interface DispatcherDeps extends AwaitDeps {
  readonly inbox: Pick<ReplyInbox, 'open' | 'close' | 'subjectOf'>;
  readonly regions: Pick<RegionBoard, 'choose'>;
  readonly inFlight: InFlight;
  readonly parcels: HtmlParcels;
  /** The server's limit for one message, in bytes. */
  readonly maxPayload: () => number;
  readonly queueTimeoutMs: number;
}

export interface DispatchOptions {
  /** The name of the capture; a UUIDv7 of this moment. */
  readonly uuid: string;
  readonly account: string;
  /** That of the account. */
  readonly isolation?: Isolation | undefined;
  readonly wantsBytes: boolean;
  readonly clientGone: AbortSignal;
  /** Where it answers for all equal ones. */
  readonly place?: CachePlace | undefined;
  /** Called right before it is queued; what it throws ends the capture, of which nobody has heard then. */
  readonly beforeQueued?: () => Promise<unknown>;
  /** Told when it is known where the capture is rendered, before it is queued. */
  readonly onAccepted?: (record: CaptureRecord) => void;
  /** Told when the job lies in the queue, and again when the wait for its end is over. */
  readonly onWait?: (waiting: boolean) => void;
}

export type CaptureEnd = AwaitedEnd;

/** What a job needs beside its html, with room to spare. */
const jobOverheadBytes = 16 * 1024;

/** From an accepted request to its end: region, queue, wait. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** When this capture must have ended at the latest, if it is accepted at a time; Unix milliseconds. */
  deadlineOf({ options }: AcceptedRequest, acceptedAt: number): number {
    return deadlineOf(options, acceptedAt + this.#deps.queueTimeoutMs);
  }

  /**
   * Queues a capture and waits for its end; its record is written then. When the client goes away, the record that is
   * answered may still be open.
   *
   * @throws ServiceError REGION_UNAVAILABLE, QUEUE_FULL, STORAGE_FAILED, INTERNAL_ERROR; a capture that failed is no
   *   error here but a record that says so
   */
  async capture(request: AcceptedRequest, options: DispatchOptions): Promise<CaptureEnd> {
    const { regions, inFlight, inbox, jobs, queueTimeoutMs, now } = this.#deps;
    const { uuid } = options;
    const region = await regions.choose(request.region);
    const leave = inFlight.add(region);
    const mailbox = inbox.open(uuid);
    try {
      const draft = buildRecord(request, {
        uuid,
        account: options.account,
        region,
        isolation: options.isolation,
        waitMs: queueTimeoutMs,
        cache: options.place,
      });
      const source = draft.html === undefined ? this.#sourceFor(request.source, draft) : undefined;
      const job = jobOf(draft, 0, {
        ...(source === undefined ? {} : { source }),
        reply: { subject: inbox.subjectOf(region, uuid), wants: options.wantsBytes ? 'bytes' : 'result' },
      });
      if (job.source.kind === 'stored-html' && request.source.kind === 'html') {
        const until = draft.html === undefined ? job.deadline : draft.expiresAt;
        await this.#deps.parcels.put({ region, name: job.source.fileName }, request.source.html, until);
      }
      await options.beforeQueued?.();
      options.onAccepted?.(draft);
      const queued = await publishJob(jobs, job, now() + acceptMs).catch((error: unknown) => {
        this.#takeBack(job, error);
        throw error;
      });
      options.onWait?.(true);
      const waiter = new EndWaiter(job, { queued, draft, mailbox }, this.#deps);
      const end = await waiter.wait(options.clientGone).finally(() => options.onWait?.(false));
      this.#removeHtml(end, job.source);
      return end;
    } finally {
      inbox.close(uuid);
      leave();
    }
  }

  /** The job may lie in the queue all the same: the client was told that it does not, so its result must not count. */
  #takeBack({ ticket, deadline }: UnsignedJob, error: unknown): void {
    const { captures, now, log } = this.#deps;
    const { code, message } = toServiceError(error);
    retryTransient(() => captures.end(ticket, fail(0, { code, message })), { deadline, now }).catch(
      (failure: unknown) =>
        log.debug({ err: failure, uuid: ticket.uuid }, 'a capture that was not queued has no record'),
    );
  }

  /** As it is, or as a parcel of its own when the message would be too large. */
  #sourceFor(source: AcceptedRequest['source'], { uuid, region }: CaptureRecord): CaptureSource {
    if (source.kind === 'url') return source;
    const room = this.#deps.maxPayload() - jobOverheadBytes;
    // As JSON a character takes six bytes at most.
    const fits = source.html.length * 6 <= room || Buffer.byteLength(JSON.stringify(source.html)) <= room;
    return fits ? source : { kind: 'stored-html', fileName: uuid, region };
  }

  /** Html that nobody renders again goes at once; when that fails, its time to live ends it. */
  #removeHtml({ record }: AwaitedEnd, source: CaptureSource): void {
    if (isOpen(record) || source.kind !== 'stored-html') return;
    if (record.html !== undefined && record.status === 'completed') return;
    this.#deps.parcels
      .remove(source.fileName)
      .catch((error: unknown) => this.#deps.log.debug({ err: error }, 'html was not removed'));
  }
}
