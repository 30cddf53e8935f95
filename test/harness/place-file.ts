import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type {
  AcceptedFile,
  ExpectedUpload,
  FileStore,
  FileUploader,
  StoredFile,
} from '@webcapture/shared/files/file-store.ts';
import type { NamedFile } from './records.ts';

/** A store, and what a renderer has of it. */
export interface Storing {
  readonly store: FileStore;
  readonly uploader: FileUploader;
}

/** What a front expects of the upload of a file. */
export function expectedOf(file: NamedFile, changes: Partial<ExpectedUpload> = {}): ExpectedUpload {
  const { name, object, account, region, contentType, expiresAt, cacheSeconds } = file;
  const cache = cacheSeconds === undefined ? {} : { cacheSeconds };
  return { name, object, account, region, contentType, expiresAt, ...cache, isRefresh: object !== name, ...changes };
}

/** The same file under another object's name, as the job of a refresh names one. */
export const asRefresh = (file: NamedFile): NamedFile => ({
  ...file,
  object: newFileName(file.name.slice(0, 36), 'png'),
});

/** Puts a file in place as a renderer and a front do it together. */
export async function placeFile({ store, uploader }: Storing, file: NamedFile): Promise<AcceptedFile> {
  const upload = await uploader.upload(file).stored;
  const accepted = await store.accept(upload, expectedOf(file));
  await store.discard(file.name, upload);
  return accepted;
}

/** Puts a file in place of the one that is there. */
export async function replaceFile(on: Storing, file: NamedFile): Promise<StoredFile> {
  return (await placeFile(on, asRefresh(file))).file;
}
