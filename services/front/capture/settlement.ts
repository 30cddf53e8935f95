import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { byteLimitMessage, type ExceededLimit } from '@webcapture/shared/accounts/byte-limits.ts';
import { systemAccount } from '@webcapture/shared/api/account.ts';
import type { CaptureReport } from '@webcapture/shared/api/capture.ts';
import { extractedType, mimeTypes } from '@webcapture/shared/api/formats.ts';
import type { Cache } from '@webcapture/shared/captures/cache.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { bytesAdded } from '@webcapture/shared/captures/usage.ts';
import { complete, fail, failureOf, isOpen, type Transition } from '@webcapture/shared/captures/transitions.ts';
import { maxStoredBytes, removableNamesOf } from '@webcapture/shared/files/extracted-file.ts';
import { extractedName } from '@webcapture/shared/files/file-name.ts';
import type { ExpectedUpload, FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import { UploadRejectedError } from '@webcapture/shared/files/upload.ts';
import { cacheOf } from '@webcapture/shared/queue/job.ts';
import type { JobOutcome, JobResult } from '@webcapture/shared/queue/results.ts';
import type { ReturnReason } from '@webcapture/shared/queue/outcomes.ts';
import type { Ticket, Tickets } from '@webcapture/shared/queue/tickets.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { ByteQuota } from '../byte-quota.ts';
import { RareLog } from '../rare-log.ts';
import { acceptDiagnostics, removeDiagnostics, withRoomFor } from './settle-diagnostics.ts';

/** What became of a result, for the metrics. */
export const settlementOutcomes = [
  'completed',
  'failed',
  'returned',
  /** Its capture had ended already: by this very result, settled before, or by another one. */
  'repeated',
  'ended',
  /** Of the service's own test captures, which the controller looks after. */
  'canary',
  /** Its capture is gone. */
  'unknown',
  /** Not a result, or one that no job of ours asked for. */
  'malformed',
  'forged',
  /** The file is not what the job asked for. */
  'rejected',
  /** The account has no room for the file. */
  'no_room',
] as const;
export type SettlementOutcome = (typeof settlementOutcomes)[number];

export interface Settlement {
  readonly outcome: SettlementOutcome;
  /** As it stands afterwards; null when there is none, or the result says nothing about one. */
  readonly record: CaptureRecord | null;
  /** Of a result that brought a file: the file that is in place now, perhaps that of another renderer. */
  readonly file?: StoredFile;
  /** Those of `file`, where they were wanted, and the store has read them. */
  readonly bytes?: Buffer | undefined;
  /** With `returned`: what has to be queued again. */
  readonly returned?: ReturnedJob;
}

/** A job of a version that its renderer does not know is queued again after this: a newer renderer may be on its way. */
export const unknownVersionDelayMs = 2000;

export interface ReturnedJob {
  readonly ticket: Ticket;
  readonly reason: ReturnReason;
}

interface SettleContext {
  /** The region that the result came from: the server lets a renderer publish under its own alone. */
  readonly region: Region;
  /** When it arrived, Unix milliseconds by the server's clock. */
  readonly at: number;
  /** Until when the store is asked, likewise. */
  readonly deadline: number;
  /** As whoever waits for it has accepted it: with what its ticket does not tell. */
  readonly draft?: CaptureRecord;
  /** Somebody waits for it: an interactive capture is taken to have no record yet, which saves reading it. */
  readonly isAwaited: boolean;
  /** Whoever waits wants the bytes of the file. */
  readonly wantsBytes?: boolean;
}

interface SettlementDeps {
  readonly captures: Pick<Captures, 'get' | 'end'>;
  readonly store: Pick<FileStore, 'accept' | 'discard' | 'remove'>;
  readonly cache: Pick<Cache, 'fill' | 'release' | 'drop'>;
  readonly tickets: Pick<Tickets, 'open'>;
  readonly byteQuota: Pick<ByteQuota, 'reserve'>;
  readonly secretsKeys?: SecretsKeys | undefined;
  /** Told of each result that came; `tokens`: what it charged. */
  readonly onSettled: (settled: { outcome: SettlementOutcome; region: Region; tokens: number }) => void;
  readonly log: Logger;
}

/** A cache that is slow or unavailable delays an answer by no more than this. */
const cacheTimeoutMs = 1000;

/**
 * The result of an interactive capture is taken for so long after its deadline. Its record is kept for longer, so a result
 * that is sent again never makes a second one.
 */
const maxLatenessMs = 86_400_000;

/**
 * Ends of captures that this front has settled for their clients are remembered until the results come by the queue, half a second
 * later, or for others that come to another front, until these are pushed out. In bytes, about: options may be large.
 */
const maxRememberedBytes = 8 * 1024 * 1024;

/** How a result ended a capture that a client waited for. */
interface SettledForClient {
  readonly record: CaptureRecord;
  readonly region: Region;
  /** Of the signed ticket, which holds the capture's options, too. */
  readonly bytes: number;
}

/** Tells one ticket from all others, without keeping it. */
const digestOf = (ticket: string) => hash('sha256', ticket, 'base64url');

type Completed = Extract<JobOutcome, { kind: 'completed' }>;
type ExtractedUpload = NonNullable<Completed['extracted']>;

const rejected = {
  code: 'CAPTURE_FAILED',
  message: 'The renderer stored a file that is not what was asked for. Send the request again.',
  cause: 'service',
} as const satisfies CaptureFailure;

/**
 * Ends captures by what renderers say of them: file in its place, record and ledger in one atomic batch, cache entry.
 * Settling a result twice, or by two processes at once, is harmless. What follows an end is the caller's: `FollowUps`.
 */
export class Settlements {
  readonly #deps: SettlementDeps;
  readonly #rarely: RareLog;
  /** By the digest of the result's ticket. */
  readonly #settledForClients = new LRUCache<string, SettledForClient>({
    maxSize: maxRememberedBytes,
    sizeCalculation: ({ bytes }) => 2 * bytes,
  });

  constructor(deps: SettlementDeps) {
    this.#deps = deps;
    this.#rarely = new RareLog(deps.log);
  }

  /** Throws ServiceError STORAGE_FAILED, or what NATS answers, when it cannot be settled now; then nothing is lost. */
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
   * A result that comes by the queue after this front has settled it for its client: there is nothing to look at again, neither its
   * signature nor its record and file. Null for every other one.
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
      this.#rarely.warn(
        { region: context.region, pod: result.pod },
        'a renderer sent a result for a job that it was not given',
      );
      return { outcome: 'forged', record: null };
    }
    const { outcome } = result;
    if (outcome.kind === 'returned')
      return { outcome: 'returned', record: null, returned: { ticket, reason: outcome.reason } };
    if (ticket.account === systemAccount) return { outcome: 'canary', record: null };
    // After a day nothing is made of a draft any more: the record that came of it may be long gone.
    const isLate = ticket.draft !== undefined && context.at > ticket.draft.deadline + maxLatenessMs;
    const draft = isLate || ticket.draft === undefined ? undefined : draftOf(ticket.draft, context);
    const found =
      (context.isAwaited && draft !== undefined ? draft : ((await this.#recordOf(ticket)) ?? draft)) ?? null;
    const settlement =
      found === null
        ? ({ outcome: 'unknown', record: null } as const)
        : await this.#end(draft === undefined ? ticket : { ...ticket, draft }, found, result, context);
    if (outcome.kind === 'completed') await this.#removeCaptureFiles(ticket, settlement, outcome);
    const given = 'diagnostics' in outcome ? outcome.diagnostics : undefined;
    await removeDiagnostics(ticket, { before: found, after: settlement.record, given }, this.#deps);
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
      settlement = await this.#complete(ticket, found, { result, outcome }, context);
      return settlement;
    } finally {
      room.release(settlement?.outcome === 'completed');
    }
  }

  /** The account has no room for the file: the capture fails, or its refresh does, unless it has ended meanwhile. */
  async #refuse(ticket: Ticket, result: JobResult, exceeded: ExceededLimit): Promise<Settlement> {
    const failure = { code: 'QUOTA_EXCEEDED', message: byteLimitMessage(exceeded), cause: 'client' } as const;
    const settlement = await this.#write(ticket, result, fail(ticket.revision, failure));
    return settlement.outcome === 'completed' ? { ...settlement, outcome: 'no_room' } : settlement;
  }

  /** Puts the file in its place and completes the capture. */
  async #complete(
    ticket: Ticket,
    found: CaptureRecord,
    { result, outcome }: { readonly result: JobResult; readonly outcome: Completed },
    context: SettleContext,
  ): Promise<Settlement> {
    const { upload, extracted, report, ageMs, pages } = outcome;
    const capturedAt = Math.round(context.at - ageMs);
    const wantedUntil = ticket.revision === 0 ? capturedAt + found.lifetimeMs : found.expiresAt;
    const asked = {
      account: ticket.account,
      region: ticket.region,
      expiresAt: wantedUntil,
      isRefresh: ticket.revision > 0,
      ...cacheOf(found, ticket.revision),
    };
    const { deadline } = context;
    try {
      const picture = { ...asked, name: found.fileName, object: ticket.object };
      const mimeType = mimeTypes[found.options.format];
      const { wantsBytes = false } = context;
      const expected = { ...picture, contentType: mimeType, wantsBytes };
      const { file, bytes } = await this.#deps.store.accept(upload, expected, { deadline });
      const beside = await this.#acceptExtracted(found, extracted, picture, deadline);
      const diagnostics = await acceptDiagnostics(ticket, found, outcome, context, this.#deps);
      const turn = ticket.revision === 0 ? found : (found.refresh ?? found);
      const shown = {
        region: ticket.region,
        mimeType,
        fileSizeBytes: file.size,
        width: file.width,
        height: file.height,
        ...(pages === undefined ? {} : { pages }),
        capturedAt,
        object: upload.object,
        ...beside,
        report: withQueueMs(report, context.at - result.elapsedMs - turn.acceptedAt),
      };
      const completed = complete(ticket.revision, shown, file.expiresAt, diagnostics);
      return { ...(await this.#write(ticket, result, this.#resealing(completed))), file, bytes };
    } catch (error) {
      if (!(error instanceof UploadRejectedError)) throw error;
      if (error.reason === 'missing') {
        // Whoever settled it meanwhile has removed what a refresh that shows the same does not need.
        const now = await this.#recordOf(ticket);
        if (now !== undefined && !isOpen(now, ticket.revision)) return settledBefore(now, ticket, outcome);
        // A reply may be quicker than the file: whoever waits tries again.
        if (context.isAwaited) throw error;
      }
      this.#deps.log.warn(
        { err: error, reason: error.reason, uuid: ticket.uuid, region: ticket.region, pod: result.pod },
        'a renderer stored a file that is not what its job asked for',
      );
      return { ...(await this.#write(ticket, result, fail(ticket.revision, rejected))), outcome: 'rejected' };
    }
  }

  /** Secrets of a former key are kept under the present one from now on: a refresh that opened them is the moment for it. */
  #resealing(transition: Transition): Transition {
    const { secretsKeys } = this.#deps;
    return (record, now) => {
      const next = transition(record, now);
      if (next?.secrets === undefined || secretsKeys === undefined) return next;
      return { ...next, secrets: secretsKeys.reseal(next.secrets, next) };
    };
  }

  /** Puts what was extracted from the page beside its file, where that was asked for. */
  async #acceptExtracted(
    { options }: CaptureRecord,
    extracted: ExtractedUpload | undefined,
    picture: Omit<ExpectedUpload, 'contentType'>,
    deadline: number,
  ) {
    if (options.extract === undefined || extracted === undefined) return {};
    const expected = {
      ...picture,
      name: extractedName(picture.name),
      object: extractedName(picture.object),
      contentType: extractedType,
      maxBytes: maxStoredBytes,
    };
    const { file } = await this.#deps.store.accept(extracted.upload, expected, { deadline });
    return { extracted: { parts: extracted.parts, bytes: file.size } };
  }

  async #write(ticket: Ticket, result: JobResult, transition: Transition): Promise<Settlement> {
    const { record, changed } = await this.#deps.captures.end(ticket, transition);
    if (record === null) return { outcome: 'unknown', record };
    // Whoever was quicker sees to it as well, but may have died.
    await this.#settleCache(record, ticket);
    if (!changed) return settledBefore(record, ticket, result.outcome);
    return { outcome: result.outcome.kind === 'completed' ? 'completed' : 'failed', record };
  }

  /** Puts a completed capture where equal requests find it, or releases its lease. Followers also read the record. */
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
      // Deleted since: whoever did so found no entry to remove. One that cannot be found says nothing.
      const now = (await captures.get(account, uuid))?.value;
      if (now !== undefined && now.status !== 'completed') await cache.drop(account, key.name, uuid);
    };
    try {
      await withDeadline(settle(), cacheTimeoutMs, 'settling the cache');
    } catch (error) {
      log.warn({ err: error, uuid }, 'the cache entry of a capture that ended could not be updated');
    }
  }

  /** A file that no record tells of goes. What is left when this fails expires, or is found as an orphan. */
  async #removeCaptureFiles(
    ticket: Ticket,
    { outcome, record }: Settlement,
    { upload, extracted }: Completed,
  ): Promise<void> {
    if (outcome === 'completed') return;
    const { store, log } = this.#deps;
    const fileName = record?.fileName ?? ticket.object;
    try {
      await store.discard(fileName, upload);
      if (extracted !== undefined) await store.discard(extractedName(fileName), extracted.upload);
      if (record?.status === 'completed') return;
      const names = record === null ? [fileName, extractedName(fileName)] : removableNamesOf(record);
      for (const name of names) await store.remove(name);
    } catch (error) {
      log.debug({ err: error, uuid: ticket.uuid }, 'a file that belongs to no capture could not be removed');
    }
  }
}

const draftOf = (signed: CaptureRecord, { draft }: SettleContext) => (draft?.uuid === signed.uuid ? draft : signed);

/** The settlement of a capture that has ended already: `repeated` where it was this very result that ended it. */
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

/** A renderer cannot know how long the job had waited; the way of job and result counts as waiting. */
function withQueueMs(report: CaptureReport, queueMs: number): CaptureReport {
  return { ...report, timings: { ...report.timings, queueMs: Math.max(0, Math.round(queueMs)) } };
}
