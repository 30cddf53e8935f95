import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { storedNamesOf } from '@webcapture/shared/files/extracted-file.ts';
import type { ListedFile } from '@webcapture/shared/files/file-store.ts';

const hourMs = 3_600_000;

/** A file without a record may belong to a record that is about to be written, or that the replica does not have yet. */
const noRecordGraceMs = 24 * hourMs;

/** After this time the regular removal of the file is overdue. */
const graceMs = hourMs;

/** Why a file is removed. */
export const removalReasons = ['no_record', 'other_file', 'ended', 'overdue'] as const;
export type RemovalReason = (typeof removalReasons)[number];

/** Descriptions of the reasons. */
export const removalWords: Readonly<Record<RemovalReason, string>> = {
  no_record: 'no capture has this file name',
  other_file: 'its capture has another file',
  ended: 'its capture has failed, expired or was deleted',
  overdue: 'its capture is past its expiry',
};

export type FileDecision =
  | { readonly act: 'keep'; readonly why: 'open' | 'in_use' | 'recent' }
  | { readonly act: 'remove'; readonly why: RemovalReason };

const keep = (why: 'open' | 'in_use' | 'recent'): FileDecision => ({ act: 'keep', why });

/**
 * Decides what happens to a file.
 *
 * @param record of the capture that the file name belongs to; null without a record
 * @param now Unix milliseconds
 */
export function decideFile(file: ListedFile, record: CaptureRecord | null, now: number): FileDecision {
  const removeAfter = (time: number, why: RemovalReason): FileDecision =>
    now > time ? { act: 'remove', why } : keep('recent');
  if (record === null) return removeAfter(file.storedAt + noRecordGraceMs, 'no_record');
  if (isOpen(record)) return keep('open');
  const isOwn = storedNamesOf(record).includes(file.name);
  // A refresh has separate objects until its result is settled.
  if (!isOwn && isOpen(record, record.refresh?.revision ?? -1)) return keep('open');
  if (!isOwn) return removeAfter(file.storedAt + graceMs, 'other_file');
  const { status, diagnostics } = record;
  if (status === 'failed' && file.name === diagnostics?.name && now <= diagnostics.expiresAt + graceMs) {
    return keep('in_use');
  }
  if (status !== 'completed') return removeAfter(file.storedAt + graceMs, 'ended');
  return now <= record.expiresAt ? keep('in_use') : removeAfter(record.expiresAt + graceMs, 'overdue');
}
