import { existsSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Command } from 'commander';
import { addCaptureFlags, readCaptureFlags } from '../capture/flags.ts';
import { addConnectionFlags, type ConnectionFlags, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { CliError, mayRetry, toCliError } from '../errors.ts';
import { integer } from '../flag-values.ts';
import { checkRegular, readUserFile, temporaryName, withFileErrors, writeRegularFile } from '../files.ts';
import { readAll } from '../terminal.ts';
import { json } from '../json.ts';
import { plainText } from '../text.ts';
import {
  type Entry,
  formOf,
  isWebAddress,
  type ListForm,
  makeEntries,
  notForBatches,
  type RawEntry,
  readList,
} from './entries.ts';
import { chooseFiles, indexFile, lockFile } from './file-names.ts';
import { renderIndexPage } from './index-page.ts';
import { hasJournal, Journal } from './journal.ts';
import { createProgressView } from './progress-view.ts';
import { queueEntries, repeatQueueing } from './queue.ts';
import { batchError, BatchRun, findDone } from './runner.ts';
import { fetchBytes, isSitemap, readSitemap, unpack } from './sitemap.ts';

interface BatchFlags extends ConnectionFlags {
  readonly output: string;
  readonly concurrency: number;
  readonly retries: number;
  readonly sitemapOrigin?: string;
  readonly queue?: boolean;
  readonly json?: boolean;
}

const examples = `
The list is one of
  addresses, one per line
  CSV with a header: url, file (name in the output folder), and options such as format or viewport.width
  JSON lines: {"url": "https://example.com", "viewport": {"width": 800}, "file": "home"}
  a sitemap or an index of sitemaps (also compressed), as a file or by its http or https address

The output folder contains the progress. After Ctrl-C, an error or a crash, the same command continues without capturing a page
twice, and retries failed entries.

Examples:
  webcapture batch pages.txt -o pictures --full-page
  webcapture batch https://example.com/sitemap.xml -o pictures --format webp --concurrency 4`;

export function batchCommand(context: Context): Command {
  const command = new Command('batch')
    .description('Capture all pages of a list or sitemap into a folder.')
    .argument('<list>', 'file or address of a list or sitemap, or - for standard input')
    .option('-o, --output <folder>', 'folder for the pictures and index.html', 'captures')
    .option(
      '--concurrency <number>',
      'maximum number of simultaneous captures; limits of the service lower it',
      integer(1, 100),
      8,
    )
    .option('--retries <number>', 'maximum number of retries of a failed capture', integer(0, 10), 2)
    .option(
      '--sitemap-origin <url>',
      'origin of the sitemaps that a sitemap file may name; default: the origin of the first one, if its address is public',
    )
    .option('--queue', 'queue all captures on the service first, up to 1,000 with one request; needs the scope read')
    .option('--json', 'print the summary as JSON');
  return addConnectionFlags(addCaptureFlags(command, { without: notForBatches }))
    .addHelpText('after', examples)
    .action((list: string, flags: BatchFlags) => batch(context, list, flags));
}

async function batch(context: Context, list: string, flags: BatchFlags): Promise<void> {
  const { terminal, signal } = context;
  const common = await readCaptureFlags(flags as unknown as Record<string, unknown>);
  const entries = makeEntries(await readEntries(context, list, flags.sitemapOrigin), common);
  // The client must not retry, because a batch handles limits and retries itself.
  const { client, url: service } = await connect(context, flags, { maxRetries: 0 });
  const folder = flags.output;
  await prepareFolder(folder);
  await checkRegular(join(folder, indexFile));
  await using journal = await Journal.open(folder, service);
  await removeTemporaryFiles(folder);
  const earlier = new Map([...journal.states].map(([id, { file }]) => [id, file]));
  const files = chooseFiles(entries, earlier);
  const before = await findDone(journal, folder, entries);
  if (before.size > 0) terminal.stderr.write(`Continuing: ${before.size} of ${entries.length} captured.\n`);

  const { concurrency: maxConcurrency, retries: maxRetries } = flags;
  const run = new BatchRun(
    {
      client,
      journal,
      folder,
      entries,
      files,
      maxConcurrency,
      maxRetries,
      signal,
      onEvent: (event, progress) => view.show(event, progress),
    },
    before,
  );
  const view = createProgressView(terminal, run.progress);
  let broken: CliError | undefined;
  try {
    // The client retries these few requests itself.
    const { client: retrying } = await connect(context, flags);
    const queue = { client: retrying, journal, folder, entries, files, signal };
    await repeatQueueing(queue);
    if (flags.queue === true) await queueEntries(queue);
    await run.run();
  } catch (error) {
    broken = batchError(toCliError(error), run.progress);
  } finally {
    view.stop();
  }
  const summary = await writeIndex(folder, entries, journal).catch((error: unknown) => {
    // If the batch has already failed, for example because of a full disk, only that error is reported.
    if (broken === undefined) throw error;
    return undefined;
  });
  if (broken !== undefined) throw broken;
  if (summary === undefined) return;
  if (flags.json === true) terminal.stdout.write(json(summary));
  else terminal.stdout.write(describe(summary, folder));
  // If a file was removed during the batch, its capture has not failed, but the file is missing.
  if (summary.saved < summary.total) context.setExit('negative');
}

interface BatchSummary {
  readonly total: number;
  readonly saved: number;
  readonly failures: readonly {
    readonly url: string;
    readonly place: string;
    readonly code: string;
    readonly message: string;
  }[];
  readonly files: readonly { readonly url: string; readonly file: string; readonly uuid: string }[];
}

async function writeIndex(folder: string, entries: readonly Entry[], journal: Journal): Promise<BatchSummary> {
  const { states } = journal;
  const done = await findDone(journal, folder, entries);
  await writeRegularFile(join(folder, indexFile), renderIndexPage(entries, states, { done, at: new Date() }));
  const failures = entries.flatMap(({ id, url, place }) => {
    const failed = states.get(id)?.failed;
    return failed === undefined || done.has(id) ? [] : [{ url, place, ...failed }];
  });
  const files = entries.flatMap(({ id, url }) => {
    const state = states.get(id);
    return done.has(id) && state?.captured !== undefined ? [{ url, file: state.file, uuid: state.captured.uuid }] : [];
  });
  return { total: entries.length, saved: done.size, failures, files };
}

/** Maximum number of failures that are printed; index.html lists all of them. */
const maxShownFailures = 20;

function describe({ total, saved, failures }: BatchSummary, folder: string): string {
  const lines = [`${saved} of ${total} captured; ${join(folder, indexFile)} shows them.`];
  if (failures.length > 0) {
    lines.push(`${failures.length} failed:`);
    for (const { url, code, message } of failures.slice(0, maxShownFailures))
      lines.push(`  ${url}: ${code}: ${message}`);
    if (failures.length > maxShownFailures) lines.push(`  … and ${failures.length - maxShownFailures} more`);
  }
  const missing = total - saved - failures.length;
  if (missing > 0) lines.push(`${missing} missing: the file was removed or changed while the batch was running.`);
  if (missing > 0 || failures.some(({ code }) => mayRetry(code))) {
    lines.push('Run the same command again to retry these.');
  } else if (failures.length > 0) {
    lines.push('A retry cannot succeed. Change the addresses or options of these entries.');
  }
  return lines.map((line) => `${plainText(line)}\n`).join('');
}

async function readEntries(context: Context, list: string, sitemapOrigin: string | undefined): Promise<RawEntry[]> {
  const { terminal, signal } = context;
  const isRemote = /^https?:\/\//i.test(list);
  const name = list === '-' ? 'Standard input' : list;
  if (!isRemote && list !== '-' && !existsSync(list)) throw new CliError('usage', `There is no file ${list}.`);
  const read = isRemote ? fetchBytes(list, signal) : list === '-' ? readAll(terminal.stdin) : readUserFile(list);
  const bytes = await read;
  const warn = (sentence: string) => void terminal.stderr.write(`Note: ${plainText(sentence)}\n`);
  const plain = unpack(bytes, name);
  if (isSitemap(plain)) return readSitemap(plain, name, { signal, warn, origin: originOf(sitemapOrigin) });
  const text = decode(plain, name);
  return readList(text, formsByExtension[extname(list).toLowerCase()] ?? formOf(text));
}

function originOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (isWebAddress(text)) return new URL(text).origin;
  throw new CliError('usage', `--sitemap-origin must be an http or https URL, not "${text.slice(0, 200)}".`);
}

const formsByExtension: Readonly<Record<string, ListForm>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
};

function decode(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CliError('usage', `${name} is not text in UTF-8.`, { cause: error });
  }
}

/** Requires an empty folder or one with a batch, because other files could be overwritten. */
async function prepareFolder(folder: string): Promise<void> {
  const names = await withFileErrors(folder, async () => {
    await mkdir(folder, { recursive: true });
    return readdir(folder);
  });
  const others = names.filter((name) => name !== lockFile && name !== 'lost+found');
  if (others.length === 0 || (await hasJournal(folder))) return;
  throw new CliError(
    'usage',
    `${folder} is not empty, and does not contain a batch. Choose another folder with --output.`,
  );
}

/** Removes the temporary files of killed processes. */
async function removeTemporaryFiles(folder: string): Promise<void> {
  await withFileErrors(folder, async () => {
    // With withFileTypes, readdir does not follow links to folders.
    for (const { parentPath, name } of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (temporaryName.test(name)) await rm(join(parentPath, name), { force: true });
    }
  });
}
