import { randomBytes } from 'node:crypto';
import { access, constants, type FileHandle, lstat, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliError, fileError, isFileError } from './errors.ts';
import type { Terminal } from './terminal.ts';

type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/** Matches temporary files of {@link writeAtomically}. */
export const temporaryName = /(^|[/\\])\.webcapture-[0-9a-f]{12}\.tmp$/;

/**
 * Writes a file atomically: into a temporary file in the same folder, which is then renamed. Readers see either the old file or the new
 * one, even if this process is killed. A device or a pipe is written directly.
 *
 * @returns number of bytes written
 */
export async function writeAtomically(
  path: string,
  content: Content,
  options: { mode?: number } = {},
): Promise<number> {
  return withFileErrors(path, async () =>
    (await isSpecial(path))
      ? writeAll(await open(path, 'w'), content, { sync: false })
      : replaceFile(path, content, options.mode),
  );
}

/**
 * Writes a file whose name the user did not choose, atomically. It does not replace a link or a device with that name.
 *
 * @throws CliError `file`
 */
export async function writeRegularFile(path: string, content: Content): Promise<number> {
  await checkRegular(path);
  return withFileErrors(path, () => replaceFile(path, content));
}

async function replaceFile(path: string, content: Content, mode = 0o666): Promise<number> {
  const temporary = join(dirname(path), `.webcapture-${randomBytes(6).toString('hex')}.tmp`);
  const file = await open(temporary, 'wx', mode);
  try {
    const bytes = await writeAll(file, content, { sync: true });
    await rename(temporary, path);
    return bytes;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Writes the content and closes the file. */
async function writeAll(file: FileHandle, content: Content, { sync }: { sync: boolean }): Promise<number> {
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(content)) {
      await file.writeFile(chunk);
      bytes += chunk.byteLength;
    }
    // Some file systems report a full disk only here.
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
  return bytes;
}

/** Whether a rename would destroy the target, such as /dev/null. */
const isSpecial = (path: string) =>
  stat(path).then(
    (found) => !found.isFile() && !found.isDirectory(),
    () => false,
  );

async function* chunksOf(content: Content): AsyncIterable<Uint8Array> {
  if (typeof content === 'string') yield Buffer.from(content);
  else if (content instanceof Uint8Array) yield content;
  else yield* content;
}

/** Whether a path is a regular file and not a link; undefined if it does not exist. */
const isRegular = (path: string): Promise<boolean | undefined> =>
  lstat(path).then(
    (found) => found.isFile(),
    () => undefined,
  );

/** Throws if {@link writeRegularFile} would refuse the path. @throws CliError `file` */
export async function checkRegular(path: string): Promise<void> {
  if ((await isRegular(path)) !== false) return;
  throw new CliError(
    'file',
    `${path} is not a regular file, but a link, a device or a folder. Remove it, or choose another folder.`,
  );
}

/** Checks that a file can be written, before its capture is charged. @throws CliError `file` */
export async function checkWritable(path: string): Promise<void> {
  if (await isSpecial(path)) return;
  await withFileErrors(dirname(path), () => access(dirname(path), constants.W_OK));
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) throw new CliError('file', `${path} is a folder, not a file.`);
}

/**
 * Like {@link checkWritable}, for `--output` of a capture, where - is standard output.
 *
 * @throws CliError `file`; `usage` for a terminal
 */
export async function checkOutput({ stdout }: Pick<Terminal, 'stdout'>, output: string): Promise<void> {
  if (output !== '-') return checkWritable(output);
  if (stdout.isTTY !== true) return;
  throw new CliError(
    'usage',
    'The file is binary, and standard output is a terminal. Redirect it (> file) or use -o file.',
  );
}

/** Reads a file that the user named. @throws CliError `file` */
export function readUserFile(path: string): Promise<Buffer> {
  return withFileErrors(path, () => readFile(path));
}

/** Converts errors of the operating system to errors that name the file. */
export async function withFileErrors<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw isFileError(error) ? fileError(error, path) : error;
  }
}
