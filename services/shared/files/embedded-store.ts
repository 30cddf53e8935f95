import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { NatsSession } from '../nats/connect.ts';
import { DeadlineError, localDeadline, withDeadline } from '../runtime/deadline.ts';
import { toServiceError } from '../runtime/errors.ts';
import { freeMemory } from '../runtime/free-memory.ts';
import {
  type Head,
  headOf,
  headSubject,
  headVersions,
  isSameLocation,
  objectFilter,
  objectFilterOfAllRegions,
  parseUploadObject,
  partsFilter,
  type PartsLocation,
  partSubject,
  versionOf,
} from './embedded-head.ts';
import { EmbeddedUploader } from './embedded-uploader.ts';
import { FileMessages, partSize, untilFound } from './file-messages.ts';
import { uuidOfFileName } from './file-name.ts';
import {
  type AcceptedFile,
  type ByteRange,
  type CallLimits,
  type ExpectedUpload,
  type FileCopy,
  FileReplacedError,
  type FileStore,
  type NewFile,
  retryIfReplaced,
  type StoredFile,
  type Upload,
} from './file-store.ts';
import { untilPlaced } from './until-placed.ts';
import { expiryToleranceMs, signatureBytes, UploadRejectedError, verifyClaim, verifySignature } from './upload.ts';

/** Number of parts that are read in advance. */
const readAhead = 8;

const writeTimeoutMs = 30_000;

/** Maximum size of files that `accept` returns. Larger files are read from the store. */
const maxReturnedBytes = 8 * 1024 * 1024;

/** Time to wait for the parts of a file. Another stream stores them, so the result can arrive before them. */
const partsTimeoutMs = 2000;

/** Name, expiry and caching of a file. */
type Wanted = Pick<ExpectedUpload, 'name' | 'expiresAt' | 'cacheSeconds'>;

/** The current head of a file, and the sequence for its compare-and-set. */
interface Place {
  /** Null if there is no head. */
  readonly head: Head | null;
  readonly sequence: number;
  readonly version: number;
}

const emptyPlace: Place = { head: null, sequence: 0, version: 0 };

/**
 * The embedded store keeps files as messages of a JetStream stream. An installation on a laptop thus needs no bucket. Renderers write the
 * parts of a file. A trusted service then writes the head, which makes them a file. The server removes expired files.
 */
export class EmbeddedStore implements FileStore {
  readonly #messages: FileMessages;
  readonly #uploader: EmbeddedUploader;
  readonly #now: () => number;
  readonly readsUploads = true;

  /** @param now Unix milliseconds, by the clock of the server, which expires the parts of files */
  constructor(session: NatsSession, now: () => number = session.now) {
    this.#messages = new FileMessages(session);
    this.#uploader = new EmbeddedUploader(session, now);
    this.#now = now;
  }

  create(file: NewFile): Promise<StoredFile> {
    return this.#call(async () => {
      const deadline = file.deadline ?? this.#now() + writeTimeoutMs;
      const upload = await this.#uploader.upload(file).stored;
      const { object: name, region, expiresAt, cacheSeconds } = file;
      const location = locationOf(upload, { region, object: name });
      const wanted = { name, expiresAt, cacheSeconds };
      const placed = await this.#place(upload, location, wanted, deadline, (head) =>
        head === null ? 'write' : 'keep',
      );
      // The head in place is either our own, whose acknowledgement was lost, or that of another upload under this name.
      if (!isSameLocation(placed.location, location)) await this.#drop(partsFilter(location));
      return placed;
    });
  }

  accept(upload: Upload, expected: ExpectedUpload, limits?: CallLimits): Promise<AcceptedFile> {
    return this.#call(async () => {
      verifyClaim(upload, expected);
      const location = locationOf(upload, expected);
      const deadline = limits?.deadline ?? this.#now() + writeTimeoutMs;
      const isReturned = expected.wantsBytes === true && upload.size <= maxReturnedBytes;
      // Checks that need no comparison with the file in place run in parallel.
      const early = expected.isRefresh ? null : this.#verify(upload, location, { ...expected, deadline }, isReturned);
      early?.catch(() => undefined);
      // If this is the first file, its name is new, unless the job was delivered twice.
      const known = expected.isRefresh ? undefined : emptyPlace;
      const decide = async (head: Head | null) => {
        // The file in place belongs to this upload, or to another delivery of the job.
        if (head !== null && (isSameLocation(head.location, location) || !expected.isRefresh)) return 'keep';
        await (early ?? this.#verify(upload, location, { ...expected, deadline }, false));
        return 'write';
      };
      const file = await this.#place(upload, location, expected, deadline, decide, known);
      // Another delivery of the job may have put its file in place.
      const isOwn = isSameLocation(file.location, location);
      const bytes = isReturned && isOwn ? await early?.catch(() => undefined) : undefined;
      return { file, bytes };
    }, limits);
  }

  discard(name: string, upload: Upload, limits?: CallLimits): Promise<void> {
    return this.#call(async () => {
      const [region, object] = upload.object.split('/');
      const parsed = parseUploadObject(upload.object, { region, object } as Pick<NewFile, 'region' | 'object'>);
      if (parsed === null || uuidOfFileName(parsed.location.object) !== uuidOfFileName(name)) return;
      const { head } = await this.#placeOf(name, limits?.deadline ?? this.#now() + writeTimeoutMs);
      const { location } = parsed;
      if (isSameLocation(head?.location, location) || isSameLocation(head?.previous, location)) return;
      await this.#messages.purge(partsFilter(location));
    }, limits);
  }

  stat(name: string, limits?: CallLimits): Promise<StoredFile | null> {
    return this.#call(async () => headOf(await this.#messages.last(headVersions(name)), this.#now()), limits);
  }

  async *read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array> {
    const { location, size } = file as Head;
    const { start, end } = range ?? { start: 0, end: size - 1 };
    const [first, last] = [Math.floor(start / partSize), Math.floor(end / partSize)];
    const partOf = async (part: number) => {
      const message = await this.#call(() => this.#messages.last(partSubject(location, part)), limits);
      if (message === null) throw new FileReplacedError();
      return message.data;
    };
    let offset = first * partSize;
    for await (const bytes of ahead(partOf, first, last)) {
      yield bytes.subarray(Math.max(0, start - offset), end - offset + 1);
      offset += partSize;
    }
  }

  copy(
    name: string,
    { name: copyName, region, account }: FileCopy,
    { deadline = this.#now() + writeTimeoutMs }: CallLimits = {},
  ): Promise<StoredFile | null> {
    return this.#call(
      () =>
        retryIfReplaced(async () => {
          const { head: existing } = await this.#placeOf(copyName, deadline);
          const { head: file } = existing === null ? await this.#placeOf(name, deadline) : { head: null };
          if (file === null) return existing;
          const { contentType, expiresAt, width, height } = file;
          const bytes = await buffer(this.read(file, undefined, { deadline }));
          return this.create({
            object: copyName,
            region,
            account,
            bytes,
            contentType,
            expiresAt,
            width,
            height,
            deadline,
          });
        }),
      { deadline },
    );
  }

  remove(name: string, limits?: CallLimits): Promise<void> {
    return this.#call(async () => {
      const { head } = await this.#placeOf(name, limits?.deadline ?? this.#now() + writeTimeoutMs);
      await this.#messages.purge(headVersions(name));
      // This also removes parts of earlier files of that name, and of uploads that never got a head.
      await this.#messages.purge(objectFilterOfAllRegions(name));
      for (const location of [head?.location, head?.previous]) {
        if (location !== undefined && location.object !== name) await this.#messages.purge(objectFilter(location));
      }
    }, limits);
  }

  /**
   * Makes an upload the file of a name. `decide` gets the file in place and returns `keep`, or `write` to replace it with the upload. If
   * another file has been placed meanwhile, it is called again.
   *
   * @param known the expected file under the name; if it is wrong, the server refuses the write, and the file is read
   */
  async #place(
    upload: Upload,
    location: PartsLocation,
    wanted: Wanted,
    deadline: number,
    decide: (head: Head | null) => 'keep' | 'write' | Promise<'keep' | 'write'>,
    known?: Place,
  ): Promise<Head> {
    const attempt = async (place: Place): Promise<Head | null> => {
      const { head } = place;
      const decision = await decide(head);
      if (decision === 'keep' && head !== null) return head;
      const written = await this.#writeHead(newHead(upload, location, wanted, head, this.#now()), place, deadline);
      if (written === null) return null;
      if (place.version > 0) await this.#dropFormer(written.head, written.sequence, head?.previous);
      return written.head;
    };
    // If the known state or the upload is wrong, the read that follows shows that.
    const asKnown = known === undefined ? null : await attempt(known).catch(() => null);
    if (asKnown !== null) return asKnown;
    const look = async () => attempt(await this.#placeOf(wanted.name, deadline));
    return untilPlaced(look, () => this.#now() >= deadline);
  }

  async #placeOf(name: string, deadline: number): Promise<Place> {
    const until = localDeadline(deadline, this.#now());
    const message = await this.#messages.lastOfLeader(headVersions(name), until);
    if (message === null) return emptyPlace;
    return { head: headOf(message, this.#now()), sequence: message.seq, version: versionOf(message.subject) };
  }

  /** Writes a head. Returns the head in place with its sequence; null if another upload's head is in place. */
  async #writeHead(
    head: Head,
    place: Place,
    deadline: number,
  ): Promise<{ readonly head: Head; readonly sequence: number } | null> {
    const until = localDeadline(deadline, this.#now());
    const sequence = await this.#messages.swap(headSubject(head.name, place.version + 1), JSON.stringify(head), {
      ttlSeconds: Math.max(1, Math.ceil((head.expiresAt - this.#now()) / 1000)),
      deadline: until,
      filter: headVersions(head.name),
      expected: place.sequence,
    });
    if (sequence !== null) return { head, sequence };
    const message = await this.#messages.lastOfLeader(headVersions(head.name), until);
    const found = headOf(message, this.#now());
    if (message === null || found === null || !isSameLocation(found.location, head.location)) return null;
    // The head belongs to an earlier attempt, whose acknowledgement was lost, or to an earlier delivery.
    return { head: found, sequence: message.seq };
  }

  /** Removes old parts. The parts of the previous file stay for its readers. The parts of the file before it are removed. */
  async #dropFormer(
    { name, location, previous }: Head,
    sequence: number,
    beforePrevious?: PartsLocation,
  ): Promise<void> {
    await this.#messages.purge(headVersions(name), sequence);
    if (beforePrevious === undefined) return;
    // If the object replaced a file, remaining parts of other deliveries of its job are removed as well.
    const isOwn = [location, previous].some((kept) => kept?.object === beforePrevious.object);
    await this.#drop(isOwn ? partsFilter(beforePrevious) : objectFilter(beforePrevious));
  }

  /**
   * Reads an upload and verifies it against its description. Returns its bytes if they are requested. Throws an
   * {@link UploadRejectedError}.
   */
  async #verify(
    upload: Upload,
    location: PartsLocation,
    { expiresAt, deadline }: ExpectedUpload & { readonly deadline: number },
    wantsBytes: boolean,
  ): Promise<Buffer | undefined> {
    const parts = Math.ceil(upload.size / partSize);
    const hash = createHash('sha256');
    const bytes = wantsBytes ? Buffer.allocUnsafeSlow(upload.size) : undefined;
    let size = 0;
    const limits = { missingUntil: Date.now() + partsTimeoutMs, deadline: localDeadline(deadline, this.#now()) };
    for await (const { data, header, time } of ahead((part) => this.#partOf(location, part, limits), 0, parts - 1)) {
      if (size === 0) verifySignature(upload, Buffer.from(data.subarray(0, signatureBytes)));
      const length = Math.min(partSize, upload.size - size);
      if (data.length !== length) {
        throw new UploadRejectedError('wrong_size', `a part of it has ${data.length} bytes, not ${length}`);
      }
      // If a part expired before its file, the file would be incomplete, and other bytes could take the place of the part.
      const ttlSeconds = Number.parseInt(header.get('Nats-TTL'), 10);
      if (!(time.getTime() + ttlSeconds * 1000 + expiryToleranceMs >= expiresAt)) {
        throw new UploadRejectedError('expired', `a part of it lives for ${header.get('Nats-TTL')} s`);
      }
      hash.update(data);
      bytes?.set(data, size);
      size += data.length;
      freeCopy(data);
    }
    if (hash.digest('hex').slice(0, 32) !== upload.etag) {
      throw new UploadRejectedError('foreign', 'its content does not match its tag');
    }
    return bytes;
  }

  async #partOf(location: PartsLocation, part: number, limits: { missingUntil: number; deadline: number }) {
    const message = await untilFound(() => this.#messages.last(partSubject(location, part)), limits);
    if (message === null) throw new UploadRejectedError('missing', `its part ${part} is not there`);
    return message;
  }

  /** Makes a call within its limits, and converts its errors to those of the store. */
  async #call<T>(call: () => Promise<T>, { deadline }: CallLimits = {}): Promise<T> {
    try {
      if (deadline === undefined) return await call();
      const leftMs = deadline - this.#now();
      if (leftMs <= 0) throw new DeadlineError('a previous call', 0);
      return await withDeadline(call(), leftMs, 'the store');
    } catch (error) {
      throw toServiceError(error, 'STORAGE_FAILED');
    }
  }

  /** Removes messages. If that fails, they are removed with the file, or expire. */
  async #drop(filter: string): Promise<void> {
    await this.#messages.purge(filter).catch(() => undefined);
  }
}

function newHead(
  { contentType, size, etag, width, height }: Upload,
  location: PartsLocation,
  { name, expiresAt, cacheSeconds }: Wanted,
  replaced: Head | null,
  now: number,
): Head {
  return {
    name,
    contentType,
    size,
    etag,
    storedAt: now,
    expiresAt,
    width,
    height,
    cacheSeconds,
    parts: Math.ceil(size / partSize),
    location,
    previous: replaced?.location,
  };
}

function locationOf({ object, size }: Upload, expected: Pick<ExpectedUpload, 'region' | 'object'>): PartsLocation {
  const parsed = parseUploadObject(object, expected);
  if (parsed === null) throw new UploadRejectedError('foreign', 'it is not the object that was asked for');
  if (parsed.parts !== Math.ceil(size / partSize)) {
    throw new UploadRejectedError('wrong_size', `it has ${parsed.parts} parts for ${size} bytes`);
  }
  return parsed.location;
}

/**
 * Frees the data of a message that is no longer used, if it is a copy. The NATS client copies a message that arrives in several pieces into
 * separate memory. The data of a message that arrives in one piece is a Buffer, whose memory contains other messages too.
 */
function freeCopy(data: Uint8Array): void {
  if (!Buffer.isBuffer(data)) freeMemory(data);
}

/**
 * Yields the results of `get` for the indexes from `first` to `last`, in order. Some calls are made before the reader needs their results.
 */
async function* ahead<T>(get: (index: number) => Promise<T>, first: number, last: number): AsyncGenerator<T> {
  const pending: Promise<T>[] = [];
  let next = first;
  for (let index = first; index <= last; index++) {
    for (; next <= last && next < index + readAhead; next++) {
      const reading = get(next);
      // A call that was made in advance may fail before it is awaited.
      reading.catch(() => undefined);
      pending.push(reading);
    }
    const result = pending.shift();
    if (result !== undefined) yield await result;
  }
}
