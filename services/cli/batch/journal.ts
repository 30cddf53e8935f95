import { randomUUID } from 'node:crypto';
import { access, constants, type FileHandle, open, readFile, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { CliError, fileError, isFileError } from '../errors.ts';
import { withFileErrors } from '../files.ts';
import { isObject, parseJson } from '../json.ts';
import type { Entry } from './entries.ts';
import { isChosenName, lockFile, stateFile } from './file-names.ts';

/** The data of a completed capture. */
export interface CapturedPage {
  readonly uuid: string;
  readonly fileUrl: string;
  readonly format: string;
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly httpStatus: number | null;
  readonly remarks: readonly string[];
}

/** A line of the journal. The lines of an entry follow each other in this order; `failed` can follow any of them. */
export type JournalLine =
  | EntryLine
  | QueueLine
  | { readonly type: 'batch'; readonly version: 1; readonly service: string; readonly at: string };

type EntryLine =
  /** Written before the request is sent. A later run repeats the request with the same Idempotency-Key. */
  | { readonly type: 'begun'; readonly id: string; readonly key: string; readonly file: string; readonly url: string }
  | ({ readonly type: 'captured'; readonly id: string } & CapturedPage)
  | { readonly type: 'saved'; readonly id: string; readonly bytes: number }
  | { readonly type: 'failed'; readonly id: string; readonly code: string; readonly message: string };

type QueueLine =
  /** Written before POST /captures/batch is sent. A later run repeats the request with the same Idempotency-Key. */
  | { readonly type: 'queueing'; readonly key: string; readonly ids: readonly string[] }
  /** The captures of the request with this key, in the order of its entries. Empty if the service refused the request. */
  | { readonly type: 'queued'; readonly key: string; readonly uuids: readonly string[] };

/** Progress of an entry. */
export interface EntryState {
  readonly key: string;
  readonly file: string;
  /** UUID of its background capture; undefined unless it was queued. */
  readonly queued?: string | undefined;
  readonly captured?: CapturedPage | undefined;
  /** Size of the file in bytes; undefined until it is saved. */
  readonly saved?: number | undefined;
  readonly failed?: { readonly code: string; readonly message: string } | undefined;
}

/** Returns the state of an entry after a line. `begun` resets it. */
function afterLine(state: EntryState | undefined, line: EntryLine): EntryState | undefined {
  switch (line.type) {
    case 'begun':
      return { key: line.key, file: line.file };
    case 'captured': {
      const { type: _type, id: _id, ...captured } = line;
      return state && { ...state, captured, failed: undefined };
    }
    case 'saved':
      return state && { ...state, saved: line.bytes, failed: undefined };
    case 'failed':
      return state && { ...state, failed: { code: line.code, message: line.message } };
  }
}

/**
 * The progress of a batch, one JSON object per line in a file of its output folder. If the process ends for any reason, even by a crash, a
 * later run continues. A lock allows one process per folder.
 */
export class Journal implements AsyncDisposable {
  readonly states: ReadonlyMap<string, EntryState>;
  /** Ids of the entries of each request to queue captures whose response is not known, by its Idempotency-Key. */
  readonly queueing: ReadonlyMap<string, readonly string[]>;
  readonly #progress: Progress;
  readonly #folder: string;
  readonly #file: FileHandle;
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, file: FileHandle, progress: Progress) {
    this.#folder = folder;
    this.#file = file;
    this.#progress = progress;
    this.states = progress.states;
    this.queueing = progress.queueing;
  }

  /**
   * Opens or creates the journal of a folder.
   *
   * @param service address of the service: an Idempotency-Key is valid for one service
   * @throws CliError `usage` if another process uses the journal, or if it belongs to another service or to no batch; `file`
   */
  static async open(folder: string, service: string): Promise<Journal> {
    const path = join(folder, stateFile);
    await lock(folder);
    let file: FileHandle | undefined;
    try {
      return await withFileErrors(path, async () => {
        file = await openRegular(path);
        const { lines, whole, size } = readLines(await file.readFile(), path);
        const progress: Progress = { states: new Map(), queueing: new Map() };
        for (const line of lines) {
          if (line.type === 'batch') checkService(line.service, service, folder);
          else apply(progress, line);
        }
        // The last line may be incomplete after a kill or on a full disk.
        if (whole < size) await file.truncate(whole);
        const journal = new Journal(folder, file, progress);
        if (lines.length === 0) {
          await journal.write({ type: 'batch', version: 1, service, at: new Date().toISOString() });
        }
        return journal;
      });
    } catch (error) {
      await file?.close();
      await unlock(folder);
      throw error;
    }
  }

  /** Resolves when the line is on disk. @throws CliError `file` */
  async write(line: JournalLine): Promise<void> {
    const write = this.#lastWrite.then(() => this.#append(line));
    this.#lastWrite = write.catch(() => undefined);
    await write;
    if (line.type !== 'batch') apply(this.#progress, line);
  }

  async #append(line: JournalLine): Promise<void> {
    const path = join(this.#folder, stateFile);
    await withFileErrors(path, async () => {
      const { size } = await this.#file.stat();
      try {
        await this.#file.appendFile(`${JSON.stringify(line)}\n`);
        await this.#file.datasync();
      } catch (error) {
        // An incomplete line would corrupt the next one.
        await this.#file.truncate(size).catch(() => undefined);
        throw error;
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lastWrite;
    await this.#file.close();
    await unlock(this.#folder);
  }
}

/** Writes the beginning of an entry, with a new Idempotency-Key. */
export async function beginEntry(
  journal: Journal,
  { id, url }: Entry,
  file: string,
): Promise<{ readonly key: string }> {
  const begun = { id, key: `batch-${randomUUID()}`, file, url };
  await journal.write({ type: 'begun', ...begun });
  return begun;
}

interface Progress {
  readonly states: Map<string, EntryState>;
  readonly queueing: Map<string, readonly string[]>;
}

function apply({ states, queueing }: Progress, line: EntryLine | QueueLine): void {
  if (line.type === 'queueing') {
    queueing.set(line.key, line.ids);
    return;
  }
  if (line.type === 'queued') {
    for (const [index, id] of (queueing.get(line.key) ?? []).entries()) {
      const state = states.get(id);
      if (state !== undefined) states.set(id, { ...state, queued: line.uuids[index] });
    }
    queueing.delete(line.key);
    return;
  }
  const state = afterLine(states.get(line.id), line);
  if (state !== undefined) states.set(line.id, state);
}

function checkService(earlier: string, service: string, folder: string): void {
  if (earlier === service) return;
  throw new CliError(
    'usage',
    `${folder} contains the batch of another service, ${earlier}. Choose another folder with --output, or that service with --server.`,
  );
}

/** Opens a regular file. Refuses links and pipes, because they may lead to a file outside the folder. @throws CliError `usage` */
async function openRegular(path: string): Promise<FileHandle> {
  const refused = (cause?: unknown) =>
    new CliError('usage', `${path} is not a regular file. Choose another folder with --output.`, { cause });
  // Windows has no such flag, but there only few users may create links.
  const noFollow = (constants.O_NOFOLLOW as number | undefined) ?? 0;
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | noFollow;
  const file = await open(path, flags, 0o644).catch((error: unknown) => {
    throw isFileError(error) && error.code === 'ELOOP' ? refused(error) : error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw refused();
}

const firstLineStart = '{"type":"batch",';

/**
 * Returns the lines and their size in bytes, without an incomplete last line. The file may come from an untrusted source, so
 * a line that no batch writes is refused, and the file is not changed.
 *
 * @throws CliError `usage`
 */
function readLines(bytes: Buffer, path: string): { lines: JournalLine[]; whole: number; size: number } {
  const refused = (what: string) =>
    new CliError('usage', `${path} is not the journal of a batch: ${what}. Choose another folder with --output.`);
  const lines: JournalLine[] = [];
  let whole = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, whole)) {
    const line: unknown = parseJson(bytes.subarray(whole, end).toString());
    if (!isJournalLine(line)) throw refused(`line ${lines.length + 1} is not a journal line`);
    if ((line.type === 'batch') !== (lines.length === 0)) throw refused('the first line must name the service');
    lines.push(line);
    whole = end + 1;
  }
  const part = bytes.subarray(whole).toString().slice(0, firstLineStart.length);
  if (lines.length === 0 && !firstLineStart.startsWith(part)) throw refused('it is empty');
  return { lines, whole, size: bytes.length };
}

function isJournalLine(line: unknown): line is JournalLine {
  if (!isObject(line)) return false;
  const hasTexts = (...names: string[]) => names.every((name) => typeof line[name] === 'string');
  const hasNumbers = (...names: string[]) => names.every((name) => typeof line[name] === 'number');
  switch (line['type']) {
    case 'batch':
      return line['version'] === 1 && hasTexts('service', 'at');
    case 'begun':
      return hasTexts('id', 'key', 'file', 'url') && isChosenName(String(line['file']));
    case 'captured':
      return (
        hasTexts('id', 'uuid', 'fileUrl', 'format', 'title') &&
        uuidPattern.test(String(line['uuid'])) &&
        hasNumbers('width', 'height') &&
        isTexts(line['remarks'])
      );
    case 'saved':
      return hasTexts('id') && hasNumbers('bytes');
    case 'failed':
      return hasTexts('id', 'code', 'message');
    case 'queueing':
      return hasTexts('key') && isTexts(line['ids']);
    case 'queued':
      return hasTexts('key') && isTexts(line['uuids']) && line['uuids'].every((uuid) => uuidPattern.test(uuid));
    default:
      return false;
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a folder contains the journal of a batch. */
export async function hasJournal(folder: string): Promise<boolean> {
  return access(join(folder, stateFile)).then(
    () => true,
    () => false,
  );
}

/** Locks the folder for this process. If the process of an existing lock runs no longer on this host, the lock is replaced. */
async function lock(folder: string): Promise<void> {
  const path = join(folder, lockFile);
  if (await create(path)) return;
  // The lock that is removed must be the one that was read. A second lock ensures that during the replacement.
  const takeover = `${path}-takeover`;
  if (!(await create(takeover))) throw await lockedError(folder, takeover);
  try {
    if (isAbandoned(await ownerOf(path))) await unlink(path);
    if (!(await create(path))) throw await lockedError(folder, path);
  } finally {
    await unlink(takeover);
  }
}

/** Creates the lock file; returns false if it exists. */
async function create(path: string): Promise<boolean> {
  try {
    await writeFile(path, `${process.pid} ${hostname()}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (!isFileError(error)) throw error;
    if (error.code === 'EEXIST') return false;
    throw fileError(error, path);
  }
}

interface Owner {
  readonly pid: number;
  readonly host: string;
}

async function ownerOf(path: string): Promise<Owner | undefined> {
  const [, pid, host = ''] = /^(\d+) (.+)$/.exec(await readFile(path, 'utf8').catch(() => '')) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), host };
}

/**
 * Whether the process of a lock no longer runs. Processes of other hosts and containers are not visible. A lock with the pid
 * of this process belongs to an earlier process, for example in a restarted container.
 */
const isAbandoned = (owner: Owner | undefined) =>
  owner?.host === hostname() && (owner.pid === process.pid || !isRunning(owner.pid));

async function lockedError(folder: string, path: string): Promise<CliError> {
  const owner = await ownerOf(path);
  const who = owner === undefined ? 'Another process' : `Process ${owner.pid} of ${owner.host}`;
  return new CliError('usage', `${who} is using ${folder}. Wait for it; if it is no longer running, remove ${path}.`);
}

const unlock = (folder: string) => unlink(join(folder, lockFile)).catch(() => undefined);

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
