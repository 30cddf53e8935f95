import { randomUUID } from 'node:crypto';
import { ServiceError } from '../errors/service-error.ts';
import { backoffMs, delay } from '../lifecycle/delay.ts';
import { isFileName } from './file-name.ts';
import type { ByteRange, CallLimits, FilePage, FileStore, ListedFile, NewFile, StoredFile } from './file-store.ts';
import type { GcsClient, GcsLimits, GcsRequest } from './gcs/gcs-client.ts';
import { listObjects } from './gcs/list-objects.ts';
import {
  describeUpload,
  fileOfObject,
  md5Of,
  objectFields,
  resourceIn,
  type GcsFile,
  type ObjectResource,
} from './gcs/object-file.ts';
import { orMissing } from './gcs/or-missing.ts';
import { readObject } from './gcs/read-object.ts';
import { upload } from './gcs/upload.ts';

/** Until when a call is tried again where nobody says otherwise. */
const writeMs = 30_000;
const readMs = 15_000;

/** So often a name is tried that is there when it is written and gone when it is looked for. */
const mostTurns = 5;

/** A cursor of the embedded store, which was in use before: the listing begins anew. */
const foreignCursor = /^\d+$/;

/** V4 links hold for seven days at most. */
const longestLinkMs = 7 * 86_400_000;

/** Files as objects of a bucket of Google Cloud Storage, below a prefix. */
export class GcsStore implements FileStore {
  readonly client: GcsClient;
  readonly #prefix: string;

  /** @param prefix of the names of all files: `captures/`, or empty */
  constructor(client: GcsClient, prefix: string) {
    this.client = client;
    this.#prefix = prefix;
  }

  create(file: NewFile, { signal }: Pick<GcsLimits, 'signal'> = {}): Promise<StoredFile> {
    return orStorageFailed(async () => {
      const limits = limitsOf({ ...file, signal }, writeMs);
      let expected = '0';
      for (let turn = 1; ; turn++) {
        const written = await this.#upload(file, { expected, replaced: null }, limits);
        if (written !== null) return written;
        // One is there: of an attempt whose answer was lost, or of another renderer of the same capture.
        const object = await this.#get(file.name, limits);
        const present = object === null ? null : fileOfObject(object, this.#prefix);
        if (present !== null && present.expiresAt > Date.now()) return present;
        // It went meanwhile, or its time is over and nobody has removed it yet.
        if (turn === mostTurns || Date.now() >= limits.deadline) {
          throw new Error('others wrote and removed the file again and again');
        }
        expected = object?.generation ?? '0';
        await delay(backoffMs(turn, 50, 1000), signal);
      }
    });
  }

  replace(file: NewFile, previous: StoredFile): Promise<StoredFile | null> {
    return orStorageFailed(async () => {
      const replaced = previous as GcsFile;
      if (replaced.expiresAt <= Date.now()) return null;
      const limits = limitsOf(file, writeMs);
      const writeId = randomUUID();
      const written = await this.#upload(file, { expected: replaced.generation, replaced, writeId }, limits);
      if (written !== null) return written;
      const object = await this.#get(file.name, limits);
      const found = object === null ? null : fileOfObject(object, this.#prefix);
      // Our own, of an attempt whose answer was lost; somebody may even have replaced it since.
      if (found?.writeId === writeId) return found;
      return found?.replacedWriteId === writeId ? lostFile(file, writeId, replaced) : null;
    });
  }

  stat(name: string, limits: CallLimits = {}): Promise<StoredFile | null> {
    return orStorageFailed(async () => {
      const object = await this.#get(name, limitsOf(limits, readMs));
      const file = object === null ? null : fileOfObject(object, this.#prefix);
      return file === null || file.expiresAt <= Date.now() ? null : file;
    });
  }

  async *read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array> {
    try {
      yield* readObject(this.client, this.#pathOf(file.name), file as GcsFile, { range, ...limits });
    } catch (error) {
      throw asStorageFailed(error);
    }
  }

  remove(name: string, limits: CallLimits = {}): Promise<void> {
    return orStorageFailed(async () => {
      const request = { method: 'DELETE', path: this.#pathOf(name) } as const;
      await this.#callOfObject('delete', request, limitsOf(limits, writeMs));
    });
  }

  /** In the order of their names; `next` is the first name of the next page, so it never grows old. */
  list(after: string | null, limit: number, limits: CallLimits = {}): Promise<FilePage> {
    return orStorageFailed(async () => {
      const prefix = this.#prefix;
      const from = prefix + (after === null || foreignCursor.test(after) ? '' : after);
      const { objects, next } = await listObjects(this.client, { prefix, from, limit }, limitsOf(limits, writeMs));
      const files = objects.flatMap(({ name, size, timeCreated, customTime }): ListedFile[] => {
        const own = name.slice(this.#prefix.length);
        if (!isFileName(own) || customTime === undefined) return [];
        const [storedAt, expiresAt] = [Date.parse(timeCreated), Date.parse(customTime)];
        return [{ name: own, size: Number(size), storedAt, expiresAt }];
      });
      return { files, next: next === null ? null : cursorOf(next.slice(prefix.length)) };
    });
  }

  /**
   * A V4 link that opens the file without any other right until `expiresAt` (Unix ms), but for no longer than the file
   * is there, or seven days. Type, disposition and Cache-Control are those of the object. Signing is local with a key
   * file; elsewhere it is a call of IAM, so keep the link.
   */
  signedUrl(file: StoredFile, { expiresAt }: { readonly expiresAt: number }): Promise<string> {
    return orStorageFailed(() => {
      const { credentials, bucket } = this.client;
      if (credentials === null) throw new Error('an endpoint that asks for no credentials has none to sign with');
      const until = Math.min(expiresAt, file.expiresAt, Date.now() + longestLinkMs);
      return credentials.signLink({ bucket, name: this.#prefix + file.name, expiresAt: until });
    });
  }

  /** Closes connections that are kept. */
  close(): void {
    this.client.close();
  }

  async #upload(
    file: NewFile,
    { expected, replaced, writeId = randomUUID() }: { expected: string; replaced: GcsFile | null; writeId?: string },
    limits: GcsLimits,
  ): Promise<GcsFile | null> {
    const { bytes, contentType } = file;
    const name = this.#prefix + file.name;
    const md5 = md5Of(bytes);
    const replacedWriteId = replaced?.writeId ?? null;
    const description = describeUpload(file, { name, md5, writeId, replacedWriteId });
    const object = await upload(this.client, { name, bytes, contentType, description, expected }, limits);
    return object === null ? null : fileOfObject(object, this.#prefix);
  }

  async #get(name: string, limits: GcsLimits): Promise<ObjectResource | null> {
    const request = { method: 'GET', path: this.#pathOf(name), query: { fields: objectFields } } as const;
    const answer = await this.#callOfObject('get', request, limits);
    return answer === null ? null : resourceIn('get', answer.json);
  }

  /** Null when the object is not there. */
  #callOfObject(
    operation: 'get' | 'delete',
    request: GcsRequest,
    limits: GcsLimits,
  ): Promise<Awaited<ReturnType<GcsClient['ask']>> | null> {
    return this.client.retry(operation, limits, (signal) =>
      orMissing(this.client, this.client.ask(operation, request, signal), signal),
    );
  }

  #pathOf(name: string): string {
    return this.client.objectPath(this.#prefix + name);
  }
}

/** What a call may take where it is not told. */
function limitsOf({ deadline, signal }: CallLimits, ms: number): GcsLimits {
  return { deadline: deadline ?? Date.now() + ms, ...(signal === undefined ? {} : { signal }) };
}

/** A name of somebody else's object must not look like the cursor of another store: what follows it is as good. */
const cursorOf = (name: string) => (foreignCursor.test(name) ? `${name}!` : name);

/** A file of ours that was there and has been replaced before we knew: nobody can read it any more. */
function lostFile(file: NewFile, writeId: string, { writeId: replacedWriteId, name }: GcsFile): GcsFile {
  const md5 = md5Of(file.bytes);
  const now = new Date().toISOString();
  const resource = { ...describeUpload(file, { name, md5, writeId, replacedWriteId }) } as ObjectResource;
  const lost = fileOfObject({ ...resource, size: String(file.bytes.length), timeCreated: now, generation: '1' }, '');
  if (lost === null) throw new Error('what we describe is a file of ours');
  return lost;
}

async function orStorageFailed<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw asStorageFailed(error);
  }
}

const asStorageFailed = (error: unknown) =>
  error instanceof ServiceError ? error : new ServiceError('STORAGE_FAILED', undefined, { cause: error });
