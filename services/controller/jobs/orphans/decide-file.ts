import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { storedNamesOf } from '@webcapture/shared/files/extracted-file.ts';
import type { ListedFile } from '@webcapture/shared/files/file-store.ts';

const hourMs = 3_600_000;

/** A file without a record may belong to one that is about to be written, or that a replica does not have yet. */
const noRecordGraceMs = 24 * hourMs;

/** Whoever removes files in the usual way has had its turn after this. */
const graceMs = hourMs;

/** Why a file is to go. */
export const removalReasons = ['no_record', 'other_file', 'ended', 'overdue'] as const;
export type RemovalReason = (typeof removalReasons)[number];

/** The same in words. */
export const removalWords: Readonly<Record<RemovalReason, string>> = {
  no_record: 'no capture of that name is known',
  other_file: 'its capture has another file',
  ended: 'its capture has failed, expired or was deleted',
  overdue: 'the time of its capture is over',
};

export type FileDecision =
  | { readonly act: 'keep'; readonly why: 'open' | 'in_use' | 'recent' }
  | { readonly act: 'remove'; readonly why: RemovalReason };

const keep = (why: 'open' | 'in_use' | 'recent'): FileDecision => ({ act: 'keep', why });

/**
 * What is to become of a file.
 *
 * @param record of the capture that its name belongs to; null when there is none
 * @param now Unix milliseconds
 */
export function decideFile(file: ListedFile, record: CaptureRecord | null, now: number): FileDecision {
  const removeAfter = (time: number, why: RemovalReason): FileDecision =>
    now > time ? { act: 'remove', why } : keep('recent');
  if (record === null) return removeAfter(file.storedAt + noRecordGraceMs, 'no_record');
  if (isOpen(record)) return keep('open');
  const isOwn = storedNamesOf(record).includes(file.name);
  // A refresh has objects of its own until its result is settled.
  if (!isOwn && isOpen(record, record.refresh?.revision ?? -1)) return keep('open');
  if (!isOwn) return removeAfter(file.storedAt + graceMs, 'other_file');
  const { status, diagnostics } = record;
  if (status === 'failed' && file.name === diagnostics?.name && now <= diagnostics.expiresAt + graceMs) {
    return keep('in_use');
  }
  if (status !== 'completed') return removeAfter(file.storedAt + graceMs, 'ended');
  return now <= record.expiresAt ? keep('in_use') : removeAfter(record.expiresAt + graceMs, 'overdue');
}
