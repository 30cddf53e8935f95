import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type {
  AcceptedFile,
  ExpectedUpload,
  FileStore,
  FileUploader,
  StoredFile,
} from '@webcapture/shared/files/file-store.ts';
import type { NamedFile } from './records.ts';

/** A file store, and the uploader with which a renderer writes to it. */
export interface Storing {
  readonly store: FileStore;
  readonly uploader: FileUploader;
}

/** Returns what a front expects of the upload of a file. */
export function expectedOf(file: NamedFile, changes: Partial<ExpectedUpload> = {}): ExpectedUpload {
  const { name, object, account, region, contentType, expiresAt, cacheSeconds } = file;
  const cache = cacheSeconds === undefined ? {} : { cacheSeconds };
  return { name, object, account, region, contentType, expiresAt, ...cache, isRefresh: object !== name, ...changes };
}

/** Returns the same file with another object name, as in the job of a refresh. */
export const asRefresh = (file: NamedFile): NamedFile => ({
  ...file,
  object: newFileName(file.name.slice(0, 36), 'png'),
});

/** Uploads a file as a renderer does, and accepts it as a front does. */
export async function placeFile({ store, uploader }: Storing, file: NamedFile): Promise<AcceptedFile> {
  const upload = await uploader.upload(file).stored;
  const accepted = await store.accept(upload, expectedOf(file));
  await store.discard(file.name, upload);
  return accepted;
}

/** Replaces an existing file. */
export async function replaceFile(on: Storing, file: NamedFile): Promise<StoredFile> {
  return (await placeFile(on, asRefresh(file))).file;
}
