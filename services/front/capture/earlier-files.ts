import type {
  CaptureRecord,
  Comparison,
  EarlierFile,
  PictureArea,
} from '@webcapture/shared/captures/capture-record.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { noBytes } from '@webcapture/shared/captures/usage.ts';
import type { FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import type { Ticket } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ByteQuota } from '../byte-quota.ts';
import type { ComparedPictures, IgnoredBox, PictureComparisons } from '../pictures/picture-comparisons.ts';

/** A replaced file, and its entry in the record. */
export interface KeptFile {
  readonly file: StoredFile;
  readonly earlier: EarlierFile;
}

/**
 * Copies the file that a refresh is about to replace, if the earlier file is to be kept or compared. If the settlement is repeated, it
 * finds the copy and does not copy again, because the file may already be the new one.
 *
 * @param deadline Unix milliseconds by the server's clock
 */
export async function keepEarlierFile(
  { account, region, revision }: Ticket,
  { fileName, outcome, refresh }: CaptureRecord,
  deadline: number,
  { store }: { readonly store: FileStore },
): Promise<KeptFile | undefined> {
  const name = refresh?.earlierName;
  if (outcome === undefined || name === undefined) return undefined;
  const file = await store.copy(fileName, { name, account, region }, { deadline });
  if (file === null) return undefined;
  const { size: fileSizeBytes, width, height } = file;
  return {
    file,
    earlier: { name, replacedBy: revision, fileSizeBytes, width, height, capturedAt: outcome.capturedAt },
  };
}

interface ComparisonDeps {
  readonly store: FileStore;
  readonly comparisons: PictureComparisons;
  readonly byteQuota: ByteQuota;
}

/** The new file of a refresh, its size before `resize`, and the areas of its ignored elements. */
interface NewPicture {
  readonly file: StoredFile;
  readonly originalSize: { readonly width: number } | undefined;
  readonly ignored: readonly PictureArea[] | undefined;
}

/** A comparison, and a function that releases the bytes that are reserved for its picture. */
interface StoredComparison {
  readonly comparison: Comparison;
  readonly release: (isStored: boolean) => void;
}

/**
 * Compares the new file of a refresh with the one that it has replaced, and stores a picture of the differences if the account has room
 * for it. Returns undefined if no comparison was requested, or the files cannot be compared.
 *
 * @throws ServiceError QUEUE_FULL if the files cannot be compared in time, so that the result is settled later
 */
export async function compareWithEarlier(
  { account, region, revision }: Ticket,
  { persistence, options, refresh, outcome }: CaptureRecord,
  { file: before }: KeptFile,
  { file: after, originalSize, ignored: ignoredAfter = [] }: NewPicture,
  { store, comparisons, byteQuota }: ComparisonDeps,
): Promise<StoredComparison | undefined> {
  const { compare } = persistence ?? {};
  const { differenceName: name } = refresh ?? {};
  if (compare === undefined || name === undefined) return undefined;
  const scale = options.viewport.deviceScaleFactor * (after.width / (originalSize?.width ?? after.width));
  const { ignore, ignoreAreas = [] } = compare;
  // An element may have moved between the pictures.
  const ofElements = ignore === undefined ? [] : [...(outcome?.ignored ?? []), ...ignoredAfter];
  const ignored = [...ignoreAreas, ...ofElements].map(({ x, y, width, height }): IgnoredBox => ({
    x: x * scale,
    y: y * scale,
    width: width * scale,
    height: height * scale,
  }));
  const files = { before, after, threshold: compare.threshold, ignored };
  const compared = await comparisons.compare(files, { account });
  if (compared === null) return undefined;
  const { changedShare } = compared;
  const comparison = { refresh: revision, changedShare, hasChanged: changedShare > compare.minShare };
  const stored = await storeDifference(
    compared,
    { name, region, account, expiresAt: after.expiresAt },
    { store, byteQuota },
  );
  if (stored === undefined) return { comparison, release: () => undefined };
  return { comparison: { ...comparison, difference: stored.difference }, release: stored.release };
}

async function storeDifference(
  { picture }: ComparedPictures,
  {
    name,
    ...place
  }: Pick<Ticket, 'region' | 'account'> & {
    readonly name: string;
    readonly expiresAt: number;
  },
  { store, byteQuota }: Omit<ComparisonDeps, 'comparisons'>,
) {
  if (picture === undefined) return undefined;
  const { bytes, width, height } = picture;
  const added = { ...noBytes, persistedBytes: bytes.length };
  const room = await byteQuota.reserve({ account: place.account, uuid: name }, added);
  if (room.exceeded !== null) return undefined;
  try {
    const file = await store.create({ ...place, object: name, bytes, contentType: 'image/png', width, height });
    return { difference: { name, bytes: file.size }, release: (isStored: boolean) => room.release(isStored) };
  } catch (error) {
    room.release(false);
    throw error;
  }
}

const namesOf = ({ earlierFiles = [], comparisons = [] }: CaptureRecord): readonly string[] => [
  ...earlierFiles.map(({ name }) => name),
  ...comparisons.flatMap(({ difference }) => difference?.name ?? []),
];

/**
 * Removes the earlier files and differences that the record does not contain any more after a refresh has ended. If this fails, they
 * expire with the file.
 */
export async function removeEarlierFiles(
  { uuid, revision }: Ticket,
  { before, after }: { readonly before: CaptureRecord | null; readonly after: CaptureRecord | null },
  { store, log }: { readonly store: FileStore; readonly log: Logger },
): Promise<void> {
  if (before === null || after === null || isOpen(after, revision)) return;
  const { refresh } = before;
  const ofRefresh = refresh?.revision === revision ? [refresh.earlierName, refresh.differenceName] : [];
  const former = [...namesOf(before), ...ofRefresh.filter((name) => name !== undefined)];
  const kept = new Set(namesOf(after));
  try {
    await Promise.all(former.filter((name) => !kept.has(name)).map((name) => store.remove(name)));
  } catch (error) {
    log.debug({ err: error, uuid }, 'earlier files that belong to no capture could not be removed');
  }
}
