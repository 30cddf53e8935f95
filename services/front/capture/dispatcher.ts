import type { CachePlace, CaptureJob, CaptureSource } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Isolation } from '@webcapture/shared/contract/isolation.ts';
import { toServiceError } from '@webcapture/shared/errors/service-error.ts';
import { retryWhileAway } from '@webcapture/shared/nats/retry.ts';
import { deadlineOf } from '@webcapture/shared/state/capture-times.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { jobOf } from '@webcapture/shared/state/job-of.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/state/jobs.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import type { AcceptedRequest } from './accept-request.ts';
import { awaitEnd, type AwaitDeps, type AwaitedEnd } from './await-end.ts';
import { buildRecord } from './build-record.ts';
import { acceptMs, publishJob, queueAway } from './publish-job.ts';
import type { HtmlParcels } from './html-parcels.ts';
import type { InFlight } from './in-flight.ts';
import type { RegionBoard } from './region-board.ts';
import type { ResultInbox } from './result-inbox.ts';

export interface DispatcherDeps extends AwaitDeps {
  readonly captures: Pick<Captures, 'create' | 'get' | 'fail' | 'cancelQueued'>;
  readonly jobs: Pick<Jobs, 'publish' | 'remove'>;
  readonly inbox: ResultInbox;
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
  /** Told as soon as the capture has its record. */
  readonly onAccepted?: (record: CaptureRecord) => void;
  /** Told when the job lies in the queue, and again when the wait for its end is over. */
  readonly onWait?: (waiting: boolean) => void;
}

export interface CaptureEnd {
  readonly record: CaptureRecord;
  /** The file, when it came along with the announcement. */
  readonly bytes: Buffer | null;
}

/** What a job needs beside its html, with room to spare. */
const jobOverheadBytes = 16 * 1024;

/** From an accepted request to its end: region, record, queue, wait. */
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
   * Queues a capture and waits for its end. When the client goes away, the record that is answered may still be open.
   *
   * @throws ServiceError REGION_UNAVAILABLE, QUEUE_FULL, STORAGE_FAILED, INTERNAL_ERROR; a capture that failed is no
   *   error here but a record that says so
   */
  async capture(request: AcceptedRequest, options: DispatchOptions): Promise<CaptureEnd> {
    const { regions, inFlight, inbox, queueTimeoutMs } = this.#deps;
    const { uuid } = options;
    const region = await regions.choose(request.region);
    const leave = inFlight.add(region);
    const mailbox = inbox.open(uuid);
    try {
      const record = buildRecord(request, {
        uuid,
        account: options.account,
        region,
        isolation: options.isolation,
        waitMs: queueTimeoutMs,
        cache: options.place,
      });
      const source = record.html === undefined ? this.#sourceFor(request.source, uuid) : undefined;
      const job = jobOf(record, 0, {
        ...(source === undefined ? {} : { source }),
        resultSubject: inbox.subjectOf(uuid),
        wantsBytes: options.wantsBytes,
      });
      if (job.source.kind === 'stored-html' && request.source.kind === 'html') {
        const until = record.html === undefined ? job.deadline : record.expiresAt;
        await this.#deps.parcels.put(job.source.fileName, request.source.html, until);
      }
      await this.#create(record);
      options.onAccepted?.(record);
      const queued = await this.#publish(job);
      options.onWait?.(true);
      const end = await awaitEnd(job, mailbox, options.clientGone, this.#deps);
      options.onWait?.(false);
      this.#cleanUp(end, job, queued);
      return end;
    } finally {
      inbox.close(uuid);
      leave();
    }
  }

  /** As it is, or as a parcel of its own when the message would be too large. */
  #sourceFor(source: AcceptedRequest['source'], uuid: string): CaptureSource {
    if (source.kind === 'url') return source;
    const room = this.#deps.maxPayload() - jobOverheadBytes;
    // As JSON a character takes six bytes at most.
    const fits = source.html.length * 6 <= room || Buffer.byteLength(JSON.stringify(source.html)) <= room;
    return fits ? source : { kind: 'stored-html', fileName: uuid };
  }

  async #create(record: CaptureRecord): Promise<void> {
    try {
      await retryWhileAway(() => this.#deps.captures.create(record), { deadline: Date.now() + acceptMs });
    } catch (error) {
      throw queueAway(error);
    }
  }

  async #publish(job: CaptureJob): Promise<QueuedJob> {
    try {
      return await publishJob(this.#deps.jobs, job, Date.now() + acceptMs);
    } catch (failure) {
      // It may lie in the queue all the same; a renderer drops what has failed already.
      const { code, message } = toServiceError(failure);
      this.#inBackground('settling a capture that was not queued', () =>
        retryWhileAway(() => this.#deps.captures.fail(job, { code, message }), job),
      );
      throw failure;
    }
  }

  /** What is left in the queue and the store of a capture that has ended. */
  #cleanUp({ record, endedHere }: AwaitedEnd, { source }: CaptureJob, queued: QueuedJob): void {
    if (isOpen(record)) return;
    if (endedHere) this.#inBackground('taking a job out of the queue', () => this.#deps.jobs.remove(queued));
    if (source.kind === 'stored-html' && (record.html === undefined || record.status !== 'completed')) {
      this.#inBackground('removing html', () => this.#deps.parcels.remove(source.fileName));
    }
  }

  /** Nobody waits for it, and when it fails, time-outs and the time to live do the same later. */
  #inBackground(what: string, work: () => Promise<unknown>): void {
    work().catch((error: unknown) => this.#deps.log.debug({ err: error }, `${what} failed`));
  }
}
