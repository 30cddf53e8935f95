import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type {
  AcceptedFile,
  ExpectedUpload,
  FileStore,
  FileUploader,
  StoredFile,
} from '@webcapture/shared/files/file-store.ts';
import type { NamedFile } from './records.ts';

/** A store, and the renderer's part of it. */
export interface Storing {
  readonly store: FileStore;
  readonly uploader: FileUploader;
}

/** A front's expectation of a file upload. */
export function expectedOf(file: NamedFile, changes: Partial<ExpectedUpload> = {}): ExpectedUpload {
  const { name, object, account, region, contentType, expiresAt, cacheSeconds } = file;
  const cache = cacheSeconds === undefined ? {} : { cacheSeconds };
  return { name, object, account, region, contentType, expiresAt, ...cache, isRefresh: object !== name, ...changes };
}

/** The same file with another object name, as in the job of a refresh. */
export const asRefresh = (file: NamedFile): NamedFile => ({
  ...file,
  object: newFileName(file.name.slice(0, 36), 'png'),
});

/** Uploads and accepts a file, like a renderer and a front together. */
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
