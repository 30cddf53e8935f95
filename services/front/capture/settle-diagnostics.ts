import type { CaptureRecord, DiagnosticsFile } from '@webcapture/shared/captures/capture-record.ts';
import { bytesAddedByDiagnostics } from '@webcapture/shared/captures/usage.ts';
import { diagnosticsType } from '@webcapture/shared/api/formats.ts';
import { maxDiagnosticsBytes, maxDiagnosticsLifetimeMs } from '@webcapture/shared/files/diagnostics-file.ts';
import { isDiagnosticsName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import type { Ticket } from '@webcapture/shared/queue/tickets.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ByteQuota } from '../byte-quota.ts';

interface SettleDiagnosticsDeps {
  readonly store: FileStore;
  readonly byteQuota: ByteQuota;
  readonly log: Logger;
}

/** Maximum time by which storing diagnostics delays the end of a capture. */
const acceptTimeoutMs = 3000;

type Ended = Extract<JobOutcome, { kind: 'completed' | 'failed' }>;

/**
 * Verifies the diagnostics of a result and moves them to their final name. Returns undefined if there are none, or if they cannot be
 * accepted; this does not change the outcome of the capture.
 *
 * @param context arrival of the result, and deadline of its settlement; Unix milliseconds
 */
export async function acceptDiagnostics(
  { account, region, object, revision }: Ticket,
  found: CaptureRecord,
  outcome: Ended,
  context: { readonly at: number; readonly deadline: number },
  { store, log }: SettleDiagnosticsDeps,
): Promise<DiagnosticsFile | undefined> {
  const { kind, diagnostics } = outcome;
  if (diagnostics === undefined || !isDiagnosticsName(diagnostics.name, object)) return undefined;
  if (kind === 'completed' && found.options.diagnostics !== true) return undefined;
  const { name, upload } = diagnostics;
  const expected = {
    name,
    object: name,
    account,
    region,
    contentType: diagnosticsType,
    expiresAt: expiryOf(found, outcome, revision, context.at),
    isRefresh: false,
    maxBytes: maxDiagnosticsBytes,
  };
  try {
    const accepting = store.accept(upload, expected, { deadline: context.deadline });
    const { file } = await withDeadline(accepting, acceptTimeoutMs, 'storing diagnostics');
    return { name, bytes: file.size, revision, expiresAt: file.expiresAt };
  } catch (error) {
    log.warn({ err: error, uuid: found.uuid }, 'the diagnostics of a capture could not be stored');
    return undefined;
  }
}

/** Diagnostics expire with the file. If there is no file, they expire when a file would have expired, but after 30 days at the latest. */
function expiryOf(found: CaptureRecord, outcome: Ended, revision: number, now: number): number {
  if (revision > 0) return found.expiresAt;
  if (outcome.kind === 'completed') return now - outcome.ageMs + found.lifetimeMs;
  return now + Math.min(found.lifetimeMs, maxDiagnosticsLifetimeMs);
}

/**
 * Reserves room for the diagnostics of a failed rendering while `end` writes its record. If the account has no room, calls `end`
 * without diagnostics.
 */
export async function withRoomFor<T>(
  ticket: Ticket,
  found: CaptureRecord,
  diagnostics: DiagnosticsFile | undefined,
  { byteQuota }: SettleDiagnosticsDeps,
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

/** The record before and after a result was settled, and the diagnostics in that result. */
interface SettledDiagnostics {
  readonly before: CaptureRecord | null;
  readonly after: CaptureRecord | null;
  readonly given: Ended['diagnostics'];
}

/** Removes diagnostics that the record does not contain. If this fails, the store removes them after their expiry. */
export async function removeDiagnostics(
  { object, uuid }: Ticket,
  { before, after, given }: SettledDiagnostics,
  { store, log }: SettleDiagnosticsDeps,
): Promise<void> {
  const kept = after?.diagnostics?.name;
  const former = before?.diagnostics?.name;
  try {
    if (given !== undefined && given.name !== kept && isDiagnosticsName(given.name, object)) {
      await store.discard(given.name, given.upload);
      await store.remove(given.name);
    }
    if (former !== undefined && former !== kept && after !== null) await store.remove(former);
  } catch (error) {
    log.debug({ err: error, uuid }, 'diagnostics that belong to no capture could not be removed');
  }
}
