import { expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { extractedName, newDiagnosticsName } from '@webcapture/shared/files/file-name.ts';
import type { ListedFile } from '@webcapture/shared/files/file-store.ts';
import { decideFile } from '../../../../services/controller/jobs/orphans/decide-file.ts';
import { isDoubtful } from '../../../../services/controller/jobs/orphans/pass.ts';
import { newRecord } from '../../../harness/records.ts';

const hour = 3_600_000;
const now = 1_800_000_000_000;
const record = newRecord({ status: 'completed', expiresAt: now + hour });

const fileOf = (age: number): ListedFile => ({
  name: record.fileName,
  size: 10,
  storedAt: now - age,
  expiresAt: now + 1000 * hour,
});

type Row = readonly [what: string, record: Partial<CaptureRecord> | null, age: number, decision: string];

const rows: readonly Row[] = [
  ['a file in use', {}, 1000 * hour, 'keep in_use'],
  ['a file in use until the last moment', { expiresAt: now }, 1000 * hour, 'keep in_use'],
  ['a file that a refresh renews', { refresh: { state: 'rendering' } as never }, 1000 * hour, 'keep in_use'],
  ['a file whose capture is queued, maybe again', { status: 'queued' }, 1000 * hour, 'keep open'],
  ['a file whose capture is rendering', { status: 'rendering' }, 1000 * hour, 'keep open'],
  [
    'a file of an open capture whose record has another file name',
    { status: 'rendering', fileName: 'x' },
    1000 * hour,
    'keep open',
  ],
  ['a file whose record may still be written', null, 24 * hour, 'keep recent'],
  ['a file without a record', null, 24 * hour + 1, 'remove no_record'],
  ['a second file of a capture, stored within the last hour', { fileName: 'other.png' }, hour, 'keep recent'],
  ['a second file of a capture', { fileName: 'other.png' }, hour + 1, 'remove other_file'],
  [
    'an upload of a refresh that has not ended',
    { fileName: 'other.png', refresh: { revision: 2, state: 'rendering' } as never },
    5 * hour,
    'keep open',
  ],
  [
    'an upload of a refresh that has ended',
    { fileName: 'other.png', refresh: { revision: 2, state: 'failed' } as never },
    5 * hour,
    'remove other_file',
  ],
  ['a second file of a deleted capture', { status: 'deleted', fileName: 'o' }, hour + 1, 'remove other_file'],
  ['a file of a capture that failed within the last hour', { status: 'failed' }, hour, 'keep recent'],
  ['a file of a failed capture', { status: 'failed' }, hour + 1, 'remove ended'],
  ['a file of a deleted capture', { status: 'deleted' }, hour + 1, 'remove ended'],
  ['a file of an expired capture', { status: 'expired', expiresAt: now - 2 * hour }, 5 * hour, 'remove ended'],
  ['a file whose expiry is in progress', { expiresAt: now - hour }, 5 * hour, 'keep recent'],
  ['a file whose expiry was lost', { expiresAt: now - hour - 1 }, 5 * hour, 'remove overdue'],
];

test.each(rows)('%s', (_, changes, age, decision) => {
  const { act, why } = decideFile(fileOf(age), changes === null ? null : { ...record, ...changes }, now);
  expect(`${act} ${why}`).toBe(decision);
});

test.each([
  ['of a capture that requested it', { options: { ...record.options, extract: ['text' as const] } }, 'keep in_use'],
  ['of a capture that did not request it', {}, 'remove other_file'],
  [
    'of a deleted capture',
    { options: { ...record.options, extract: ['text' as const] }, status: 'deleted' as const },
    'remove ended',
  ],
])('the extracted text %s', (_, changes, decision) => {
  const file = { ...fileOf(5 * hour), name: extractedName(record.fileName) };
  const { act, why } = decideFile(file, { ...record, ...changes }, now);
  expect(`${act} ${why}`).toBe(decision);
});

const noted = { name: newDiagnosticsName(record.fileName), bytes: 10, revision: 0, expiresAt: now };
test.each([
  ['of a capture that failed', { status: 'failed', diagnostics: noted }, 'keep in_use'],
  [
    'of a failed capture, after their expiry',
    { status: 'failed', diagnostics: { ...noted, expiresAt: now - 2 * hour } },
    'remove ended',
  ],
  ['of a capture that completed', { diagnostics: noted }, 'keep in_use'],
  [
    'of an earlier rendering',
    { diagnostics: { ...noted, name: newDiagnosticsName(record.fileName) } },
    'remove other_file',
  ],
  ['of a deleted capture', { status: 'deleted', diagnostics: noted }, 'remove ended'],
] as const)('diagnostics %s', (_, changes, decision) => {
  const { act, why } = decideFile({ ...fileOf(5 * hour), name: noted.name }, { ...record, ...changes }, now);
  expect(`${act} ${why}`).toBe(decision);
});

test.each([
  ['a file without a record is doubtful before its expiry', 'no_record', now + 1, true],
  ['a file without a record is not doubtful after its expiry', 'no_record', now - 1, false],
  ['a file with a record is not doubtful', 'ended', now + 1, false],
] as const)('%s', (_, why, expiresAt, doubtful) => {
  expect(isDoubtful({ ...fileOf(30 * hour), expiresAt }, why, now)).toBe(doubtful);
});
