import type { CaptureRecord, DiagnosticsFile } from '@webcapture/shared/captures/capture-record.ts';
import { bytesAddedByDiagnostics } from '@webcapture/shared/captures/usage.ts';
import { diagnosticsType } from '@webcapture/shared/api/formats.ts';
import { maxDiagnosticsBytes, maxDiagnosticsLifetimeMs } from '@webcapture/shared/files/diagnostics-file.ts';
import { isDiagnosticsName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import type { Ticket } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ByteQuota } from '../byte-quota.ts';

export interface SettleDiagnosticsDeps {
  readonly store: Pick<FileStore, 'accept' | 'discard' | 'remove'>;
  readonly byteQuota: Pick<ByteQuota, 'reserve'>;
  readonly log: Logger;
}

/** A store that is slow delays the end of a capture by no more than this. */
const acceptTimeoutMs = 3000;

type WithDiagnostics = Extract<JobOutcome, { kind: 'completed' | 'failed' }>;

/** What a result says of diagnostics. Undefined: nothing. */
export const diagnosticsIn = (outcome: JobOutcome): WithDiagnostics['diagnostics'] =>
  outcome.kind === 'completed' || outcome.kind === 'failed' ? outcome.diagnostics : undefined;

/**
 * Puts the diagnostics of a rendering in place. They never decide what becomes of the capture: undefined where there are none, or they
 * are not what they should be.
 *
 * @param now when the result arrived, Unix milliseconds
 */
export async function acceptDiagnostics(
  { account, region, object, revision }: Ticket,
  found: CaptureRecord,
  outcome: WithDiagnostics,
  now: number,
  { store, log }: Pick<SettleDiagnosticsDeps, 'store' | 'log'>,
): Promise<DiagnosticsFile | undefined> {
  const { diagnostics } = outcome;
  if (diagnostics === undefined || !isDiagnosticsName(diagnostics.name, object)) return undefined;
  if (outcome.kind === 'completed' && found.options.diagnostics !== true) return undefined;
  const { name, upload } = diagnostics;
  try {
    const expected = {
      name,
      object: name,
      account,
      region,
      contentType: diagnosticsType,
      expiresAt: endOf(found, outcome, revision, now),
      isRefresh: false,
      maxBytes: maxDiagnosticsBytes,
    };
    const { file } = await store.accept(upload, expected, { deadline: now + acceptTimeoutMs });
    return { name, bytes: file.size, revision, expiresAt: file.expiresAt };
  } catch (error) {
    log.warn({ err: error, uuid: found.uuid }, 'the diagnostics of a capture could not be stored');
    return undefined;
  }
}

/** They end with the file; without one, when it would have ended, after 30 days at the latest. */
function endOf(found: CaptureRecord, outcome: WithDiagnostics, revision: number, now: number): number {
  if (revision > 0) return found.expiresAt;
  if (outcome.kind === 'completed') return now - outcome.ageMs + found.lifetimeMs;
  return now + Math.min(found.lifetimeMs, maxDiagnosticsLifetimeMs);
}

/**
 * Sets room aside for the diagnostics of a rendering that failed, and ends it. If the account has no room, the diagnostics are left out.
 *
 * @param end is called with what is to be stored
 */
export async function withRoomFor<T>(
  ticket: Ticket,
  found: CaptureRecord,
  diagnostics: DiagnosticsFile | undefined,
  { byteQuota }: Pick<SettleDiagnosticsDeps, 'byteQuota'>,
  end: (stored: DiagnosticsFile | undefined) => Promise<T>,
): Promise<T> {
  if (diagnostics === undefined) return end(undefined);
  const room = await byteQuota.reserve(ticket, bytesAddedByDiagnostics(found, diagnostics.bytes));
  if (room.exceeded !== null) return end(undefined);
  let isStored = false;
  try {
    const ended = await end(diagnostics);
    isStored = true;
    return ended;
  } finally {
    room.release(isStored);
  }
}

/** Removes diagnostics that no record names: those of the result unless it ended the capture, and those that it replaced. */
export async function removeDiagnostics(
  found: CaptureRecord | null,
  record: CaptureRecord | null,
  outcome: JobOutcome,
  { store, log }: Pick<SettleDiagnosticsDeps, 'store' | 'log'>,
): Promise<void> {
  const kept = record?.diagnostics?.name;
  const given = diagnosticsIn(outcome);
  const former = found?.diagnostics?.name;
  try {
    if (given !== undefined && record !== null && given.name !== kept)
      await store.discard(record.fileName, given.upload);
    if (former !== undefined && record !== null && former !== kept) await store.remove(former);
  } catch (error) {
    log.debug({ err: error, uuid: record?.uuid }, 'diagnostics that belong to no capture could not be removed');
  }
}
