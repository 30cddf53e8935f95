import type { FileStore, ListedFile } from '@webcapture/shared/storage/file-store.ts';
import { uuidOfFileName } from '@webcapture/shared/storage/file-name.ts';
import { decideFile, type RemovalReason } from './decide-file.ts';
import type { RecordFinder } from './record-finder.ts';

/** A file that should go. */
export interface Finding {
  readonly file: ListedFile;
  readonly why: RemovalReason;
  /** See {@link isDoubtful}. */
  readonly doubtful: boolean;
}

export interface LookedAt {
  readonly files: number;
  readonly findings: readonly Finding[];
  /** Where the next page begins; null after the last one. */
  readonly next: string | null;
}

export interface LookDeps {
  readonly store: Pick<FileStore, 'list'>;
  readonly finder: Pick<RecordFinder, 'find'>;
  readonly now: () => number;
  readonly pageSize: number;
}

/** Looks at one page of files. Changes nothing. */
export async function lookAtPage({ store, finder, now, pageSize }: LookDeps, after: string | null): Promise<LookedAt> {
  const { files, next } = await store.list(after, pageSize);
  const records = await finder.find(files.map(({ name }) => uuidOfFileName(name)));
  const findings = files.flatMap((file) => {
    const decision = decideFile(file, records.get(uuidOfFileName(file.name)) ?? null, now());
    if (decision.act === 'keep') return [];
    return [{ file, why: decision.why, doubtful: isDoubtful(file, decision.why, now()) }];
  });
  return { files: files.length, findings, next };
}

/**
 * A file without a record whose time is not over may be that of another installation on the same bucket, or the records
 * were lost: people decide. When its time is over nobody can want it any more.
 */
export const isDoubtful = ({ expiresAt }: ListedFile, why: RemovalReason, now: number) =>
  why === 'no_record' && expiresAt > now;
