import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { byteLimitMessage, type ExceededLimit } from '@webcapture/shared/accounts/byte-limits.ts';
import { systemAccount } from '@webcapture/shared/api/account.ts';
import type { Cache } from '@webcapture/shared/captures/cache.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import type { Sessions } from '@webcapture/shared/captures/sessions.ts';
import { bytesAdded } from '@webcapture/shared/captures/usage.ts';
import { fail, failureOf, isOpen, type Transition } from '@webcapture/shared/captures/transitions.ts';
import type { FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import { UploadRejectedError } from '@webcapture/shared/files/upload.ts';
import type { JobResult } from '@webcapture/shared/queue/results.ts';
import type { ReturnReason } from '@webcapture/shared/queue/outcomes.ts';
import type { Ticket, Tickets } from '@webcapture/shared/queue/tickets.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { withSpan } from '@webcapture/shared/tracing/spans.ts';
import type { ByteQuota } from '../byte-quota.ts';
import { ThrottledLogger } from '@webcapture/shared/runtime/throttled-logger.ts';
import type { PictureComparisons } from '../pictures/picture-comparisons.ts';
import { keepSession } from '../sessions/keep-session.ts';
import { removeEarlierFiles } from './earlier-files.ts';
import { acceptDiagnostics, removeDiagnostics, withRoomFor } from './settle-diagnostics.ts';
import { acceptFiles, type Completed, discardFiles } from './settle-files.ts';
import type { SettlementOutcome } from './settlement-outcomes.ts';

export interface Settlement {
  readonly outcome: SettlementOutcome;
  /** The current record; null if there is none, or if the result is not about a capture. */
  readonly record: CaptureRecord | null;
  /** The stored file of a completed result. Another renderer may have made it. */
  readonly file?: StoredFile;
  /** Content of `file` if it was requested and the store has read it. */
  readonly bytes?: Buffer | undefined;
  /** The job to queue again; only for `returned`. */
  readonly returned?: ReturnedJob;
}

/** Delay before a job is queued again because its renderer is too old for it. A newer renderer may be starting. */
export const unknownVersionDelayMs = 2000;

export interface ReturnedJob {
  readonly ticket: Ticket;
  readonly reason: ReturnReason;
}

interface SettleContext {
  /** Region of the sender. NATS permits renderers to publish only for their own region. */
  readonly region: Region;
  /** Time of arrival; Unix milliseconds by the server's clock. */
  readonly at: number;
  /** Deadline of requests to the store; Unix milliseconds by the server's clock. */
  readonly deadline: number;
  /** The record as the waiting front created it, with fields that the ticket omits. */
  readonly draft?: CaptureRecord;
  /** Whether a client waits. The record is then not read, because an interactive capture has none until it ends. */
  readonly isAwaited: boolean;
  /** Whether the caller needs the content of the file. */
  readonly wantsBytes?: boolean;
}

export interface SettlementDeps {
  readonly captures: Captures;
  readonly store: FileStore;
  readonly comparisons: PictureComparisons;
  readonly cache: Cache;
  readonly tickets: Tickets;
  readonly byteQuota: ByteQuota;
  readonly sessions: Sessions;
  readonly secretsKeys?: SecretsKeys | undefined;
  /** Called for each settled result; `tokens`: the tokens that it charged. */
  readonly onSettled: (settled: { outcome: SettlementOutcome; region: Region; tokens: number }) => void;
  readonly log: Logger;
}

/** Maximum delay of a response by the cache. */
const cacheTimeoutMs = 1000;

/**
 * Results of interactive captures are accepted for this time after the deadline. Their records are kept longer, so that a
 * repeated result never creates a second record.
 */
const maxLatenessMs = 86_400_000;

/**
 * Maximum size of the memory of captures that this front has settled for its clients. Their results arrive from the queue half a second
 * later. If another front receives a result, the entry stays here until it is evicted. Sizes are approximate bytes, because options may be
 * large.
 */
const maxRememberedBytes = 8 * 1024 * 1024;

/** A capture with a waiting client that this front has settled. */
interface SettledForClient {
  readonly record: CaptureRecord;
  readonly region: Region;
  /** Size of the signed ticket, which contains the options of the capture. */
  readonly bytes: number;
}

/** Identifies a ticket without storing it. */
const digestOf = (ticket: string) => hash('sha256', ticket, 'base64url');

const rejected = {
  code: 'CAPTURE_FAILED',
  message: 'The renderer stored a file that does not match the request. Send the request again.',
  cause: 'service',
} as const satisfies CaptureFailure;

const rejectedSession = {
  code: 'CAPTURE_FAILED',
  message: 'The renderer did not return the cookies and the storage of the login. Send the request again.',
  cause: 'service',
} as const satisfies CaptureFailure;

/**
 * Ends captures according to the results of renderers: moves the file to its final name, writes record and usage ledger in one atomic
 * batch, and updates the cache entry. A capture is charged once, because settling a result repeatedly or concurrently has no further
 * effect. The caller schedules what follows the end of a capture (`FollowUps`).
 */
export class ResultSettler {
  readonly #deps: SettlementDeps;
  readonly #rarely: ThrottledLogger;
  /** Keyed by the digest of the result's ticket. */
  readonly #settledForClients = new LRUCache<string, SettledForClient>({
    maxSize: maxRememberedBytes,
    sizeCalculation: ({ bytes }) => 2 * bytes,
  });

  constructor(deps: SettlementDeps) {
    this.#deps = deps;
    this.#rarely = new ThrottledLogger(deps.log);
  }

  /** Throws ServiceError STORAGE_FAILED or the errors of NATS if the result cannot be settled now; it can then be retried. */
  async settle(result: JobResult, context: SettleContext): Promise<Settlement> {
    const settlement = this.#settledForClient(result, context) ?? (await this.#settle(result, context));
    const { outcome, record } = settlement;
    const { region, isAwaited } = context;
    if (isAwaited && record !== null && (outcome === 'completed' || outcome === 'failed')) {
      this.#settledForClients.set(digestOf(result.ticket), { record, region, bytes: result.ticket.length });
    }
    const tokens = outcome === 'completed' ? (record?.tokenCost ?? 0) : 0;
    this.#deps.onSettled({ outcome, region, tokens });
    return settlement;
  }

  /**
   * Returns the settlement of a result from the queue if this front has already settled it for its client. The signature, the record and
   * the file are then not verified again. Returns null for other results.
   */
  #settledForClient(result: JobResult, { region, isAwaited }: SettleContext): Settlement | null {
    if (isAwaited) return null;
    const digest = digestOf(result.ticket);
    const end = this.#settledForClients.get(digest);
    if (end?.region !== region) return null;
    this.#settledForClients.delete(digest);
    const settlement = settledBefore(end.record, { revision: 0 }, result.outcome);
    return settlement.outcome === 'repeated' ? settlement : null;
  }

  async #settle(result: JobResult, context: SettleContext): Promise<Settlement> {
    const { tickets } = this.#deps;
    const ticket = await tickets.open(result.ticket);
    if (ticket === null || ticket.region !== context.region) {
      this.#rarely.warn({ region: context.region, pod: result.pod }, 'a renderer sent a result with an invalid ticket');
      return { outcome: 'forged', record: null };
    }
    const { outcome } = result;
    if (outcome.kind === 'returned')
      return { outcome: 'returned', record: null, returned: { ticket, reason: outcome.reason } };
    if (ticket.account === systemAccount) return { outcome: 'canary', record: null };
    const attributes = { 'webcapture.capture.id': ticket.uuid, 'webcapture.region': ticket.region };
    return withSpan('settle result', { attributes }, async (span) => {
      const settlement = await this.#settleGenuine(ticket, result, context);
      span.setAttribute('webcapture.outcome', settlement.outcome);
      return settlement;
    });
  }

  /** Settles a result with a valid ticket. */
  async #settleGenuine(ticket: Ticket, result: JobResult, context: SettleContext): Promise<Settlement> {
    const { outcome } = result;
    // A day after the deadline, a draft is no longer written, because its record may have expired.
    const isLate = ticket.draft !== undefined && context.at > ticket.draft.deadline + maxLatenessMs;
    const draft = isLate || ticket.draft === undefined ? undefined : draftOf(ticket.draft, context);
    const found =
      (context.isAwaited && draft !== undefined ? draft : ((await this.#recordOf(ticket)) ?? draft)) ?? null;
    const settlement =
      found === null
        ? ({ outcome: 'unknown', record: null } as const)
        : await this.#end(draft === undefined ? ticket : { ...ticket, draft }, found, result, context);
    if (outcome.kind === 'completed') await discardFiles(ticket, settlement, outcome, this.#deps);
    const given = 'diagnostics' in outcome ? outcome.diagnostics : undefined;
    const change = { before: found, after: settlement.record };
    await removeDiagnostics(ticket, { ...change, given }, this.#deps);
    await removeEarlierFiles(ticket, change, this.#deps);
    return settlement;
  }

  async #recordOf({ account, uuid }: Ticket): Promise<CaptureRecord | undefined> {
    return (await this.#deps.captures.get(account, uuid))?.value;
  }

  async #end(ticket: Ticket, found: CaptureRecord, result: JobResult, context: SettleContext): Promise<Settlement> {
    const { outcome } = result;
    if (!isOpen(found, ticket.revision)) return settledBefore(found, ticket, outcome);
    if (outcome.kind === 'failed') {
      const { code, message, cause } = outcome;
      const diagnostics = await acceptDiagnostics(ticket, found, outcome, context, this.#deps);
      return withRoomFor(ticket, found, diagnostics, this.#deps, (stored) =>
        this.#write(ticket, result, fail(ticket.revision, { code, message, cause }, stored)),
      );
    }
    if (outcome.kind !== 'completed') return { outcome: 'malformed', record: null };
    const { upload, extracted, diagnostics } = outcome;
    const size = upload.size + (extracted?.upload.size ?? 0) + (diagnostics?.upload.size ?? 0);
    const room = await this.#deps.byteQuota.reserve(ticket, bytesAdded(found, size));
    if (room.exceeded !== null) return this.#refuse(ticket, result, room.exceeded);
    let settlement: Settlement | undefined;
    try {
      if (ticket.revision === 0 && !(await keepSession(found, outcome.session, context.at, this.#deps))) {
        return { ...(await this.#write(ticket, result, fail(0, rejectedSession))), outcome: 'rejected' };
      }
      settlement = await this.#complete(ticket, found, { result, outcome }, context);
      return settlement;
    } finally {
      room.release(settlement?.outcome === 'completed');
    }
  }

  /** Fails the capture or its refresh because the account has no room for the file, unless it has ended meanwhile. */
  async #refuse(ticket: Ticket, result: JobResult, exceeded: ExceededLimit): Promise<Settlement> {
    const failure = { code: 'QUOTA_EXCEEDED', message: byteLimitMessage(exceeded), cause: 'client' } as const;
    const settlement = await this.#write(ticket, result, fail(ticket.revision, failure));
    return settlement.outcome === 'completed' ? { ...settlement, outcome: 'no_room' } : settlement;
  }

  /** Moves the files to their final names and completes the capture. */
  async #complete(
    ticket: Ticket,
    found: CaptureRecord,
    { result, outcome }: { readonly result: JobResult; readonly outcome: Completed },
    context: SettleContext,
  ): Promise<Settlement> {
    try {
      const { transition, file, bytes, release } = await acceptFiles(
        ticket,
        found,
        { result, outcome },
        context,
        this.#deps,
      );
      let settlement: Settlement | undefined;
      try {
        settlement = { ...(await this.#write(ticket, result, transition)), file, bytes };
        return settlement;
      } finally {
        release(settlement?.outcome === 'completed');
      }
    } catch (error) {
      if (!(error instanceof UploadRejectedError)) throw error;
      if (error.reason === 'missing') {
        // If a refresh shows the same picture, the process that settled the refresh has removed the file.
        const now = await this.#recordOf(ticket);
        if (now !== undefined && !isOpen(now, ticket.revision)) return settledBefore(now, ticket, outcome);
        // A reply can arrive before its file, so the waiting front retries.
        if (context.isAwaited) throw error;
      }
      this.#deps.log.warn(
        { err: error, reason: error.reason, uuid: ticket.uuid, region: ticket.region, pod: result.pod },
        'a renderer stored a file that does not match its job',
      );
      return { ...(await this.#write(ticket, result, fail(ticket.revision, rejected))), outcome: 'rejected' };
    }
  }

  async #write(ticket: Ticket, result: JobResult, transition: Transition): Promise<Settlement> {
    const { record, changed } = await this.#deps.captures.end(ticket, transition);
    if (record === null) return { outcome: 'unknown', record };
    // The cache is also updated if another process has written the record, because that process may have died before its own update.
    await this.#settleCache(record, ticket);
    if (!changed) return settledBefore(record, ticket, result.outcome);
    return { outcome: result.outcome.kind === 'completed' ? 'completed' : 'failed', record };
  }

  /** Offers a completed capture to equal requests, or releases its lease. Followers also read the record. */
  async #settleCache(record: CaptureRecord, { account, uuid, revision }: Ticket): Promise<void> {
    const { cache, captures, log } = this.#deps;
    const { cache: key } = record;
    if (key === undefined || (record.status !== 'completed' && revision > 0)) return;
    const settle = async () => {
      if (record.status !== 'completed') {
        await cache.release(account, key.name, uuid);
        return;
      }
      await cache.fill(account, key, record);
      // If the capture was deleted meanwhile, the deletion has not found the entry, so it must be dropped now. A missing record is ignored.
      const now = (await captures.get(account, uuid))?.value;
      if (now !== undefined && now.status !== 'completed') await cache.drop(account, key.name, uuid);
    };
    try {
      await withDeadline(settle(), cacheTimeoutMs, 'settling the cache');
    } catch (error) {
      log.warn({ err: error, uuid }, 'the cache entry of a capture that ended could not be updated');
    }
  }
}

const draftOf = (signed: CaptureRecord, { draft }: SettleContext) => (draft?.uuid === signed.uuid ? draft : signed);

/** Returns the settlement of a capture that has ended already: `repeated` if the same result ended it. */
function settledBefore(
  record: CaptureRecord,
  { revision }: Pick<Ticket, 'revision'>,
  outcome: JobResult['outcome'],
): Settlement {
  const isRepeated =
    outcome.kind === 'completed'
      ? record.outcome?.object === outcome.upload.object
      : outcome.kind === 'failed' && failureOf(record, revision)?.message === outcome.message;
  return { outcome: isRepeated ? 'repeated' : 'ended', record };
}
