import type { Capture } from '@webcapture/client';
import { Command, Option } from 'commander';
import { captureStatuses, type CaptureStatus } from '@webcapture/shared/api/capture.ts';
import { remarks, saveFile } from '../capture/command.ts';
import { addConnectionFlags, type ConnectionFlags, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { checkOutput, checkWritable, writeAtomically } from '../files.ts';
import { json } from '../json.ts';
import { facts, percentOf, table } from '../text.ts';
import { integer } from '../flag-values.ts';
import { describeDiagnostics } from './diagnostics.ts';

interface ListFlags extends ConnectionFlags {
  readonly status?: CaptureStatus;
  readonly limit: number;
  readonly json?: boolean;
}

interface OneFlags extends ConnectionFlags {
  readonly output?: string;
  readonly json?: boolean;
}

interface GetFlags extends OneFlags {
  readonly diagnostics?: boolean;
  readonly har?: string;
  readonly lastPicture?: string;
}

export function capturesCommand(context: Context): Command {
  const list = new Command('list')
    .description('List captures, newest first.')
    .addOption(new Option('--status <status>', 'only captures with this status').choices(captureStatuses))
    .option('--limit <number>', 'maximum number of captures', integer(1, 100_000), 20)
    .option('--json', 'print a JSON array')
    .action((flags: ListFlags) => listCaptures(context, flags));
  const get = new Command('get')
    .alias('show')
    .description('Show a capture, or write its file.')
    .argument('<uuid>')
    .option('-o, --output <file>', 'path of the file; - is standard output')
    .option('--diagnostics', 'show diagnostics of a failed or odd capture: console messages, requests, steps and waits')
    .option('--har <file>', 'path of a HAR file for the requests of the diagnostics')
    .option('--last-picture <file>', 'path of a JPEG file for the last picture of a failed capture')
    .option('--json', 'print JSON')
    .action((uuid: string, flags: GetFlags) => getCapture(context, uuid, flags));
  const remove = new Command('delete')
    .description('Delete the file of a capture, or cancel a queued one.')
    .argument('<uuid>')
    .option('--json', 'print JSON')
    .action(async (uuid: string, flags: OneFlags) => {
      const { client } = await connect(context, flags);
      const capture = await client.deleteCapture(uuid, context);
      context.terminal.stdout.write(flags.json === true ? json(capture) : `Deleted ${uuid}.\n`);
    });
  const refresh = new Command('refresh')
    .description('Capture the page again to the same URL.')
    .argument('<uuid>')
    .option('--json', 'print JSON')
    .action(async (uuid: string, flags: OneFlags) => {
      const { client } = await connect(context, flags);
      const capture = await client.refreshCapture(uuid, context);
      const note = `The refresh is queued; "webcapture captures get ${uuid}" shows its state.\n`;
      context.terminal.stdout.write(flags.json === true ? json(capture) : note);
    });
  const history = new Command('history')
    .description('Show the refreshes of a capture, how they have changed its picture, and the earlier files.')
    .argument('<uuid>')
    .option('--json', 'print JSON')
    .action((uuid: string, flags: OneFlags) => showHistory(context, uuid, flags));
  const command = new Command('captures').description('List, show, delete and refresh captures.');
  for (const each of [list, get, remove, refresh, history]) command.addCommand(addConnectionFlags(each));
  return command;
}

async function listCaptures(context: Context, { status, limit, ...flags }: ListFlags): Promise<void> {
  const { terminal, signal } = context;
  const { client } = await connect(context, flags);
  const found: Capture[] = [];
  for await (const capture of client.listCaptures({ status, limit: Math.min(limit, 100), signal })) {
    found.push(capture);
    if (found.length >= limit) break;
  }
  if (flags.json === true) {
    terminal.stdout.write(json(found));
    return;
  }
  const rows = found.map((capture) => [
    capture.uuid,
    capture.status,
    capture.metadata.format,
    'acceptedAt' in capture ? capture.acceptedAt : capture.metadata.capturedAt,
    capture.metadata.url,
  ]);
  terminal.stdout.write(table(['UUID', 'STATUS', 'FORMAT', 'TIME', 'URL'], rows, terminal.stdout.columns));
}

async function showHistory(context: Context, uuid: string, flags: OneFlags): Promise<void> {
  const { stdout } = context.terminal;
  const { client } = await connect(context, flags);
  const history = await client.getCaptureHistory(uuid, context);
  if (flags.json === true) {
    stdout.write(json(history));
    return;
  }
  const { refreshes, files } = history;
  const changeOf = ({ comparison }: (typeof refreshes)[number]) =>
    comparison === null ? null : percentOf(comparison.changedShare);
  const ended = refreshes.map((refresh) => [
    refresh.number,
    refresh.state,
    refresh.acceptedAt,
    changeOf(refresh),
    refresh.comparison?.differenceUrl ?? refresh.error?.message,
  ]);
  stdout.write(table(['REFRESH', 'STATE', 'ACCEPTED', 'CHANGED', 'DIFFERENCE OR ERROR'], ended, stdout.columns));
  const kept = files.map((file) => [file.capturedAt, file.replacedBy, file.fileSizeBytes, file.fileUrl]);
  stdout.write(`\n${table(['CAPTURED', 'REPLACED BY', 'BYTES', 'EARLIER FILE'], kept, stdout.columns)}`);
}

async function getCapture(context: Context, uuid: string, flags: GetFlags): Promise<void> {
  const { terminal, signal } = context;
  if (flags.output !== undefined) await checkOutput(terminal, flags.output);
  for (const path of [flags.har, flags.lastPicture]) if (path !== undefined) await checkWritable(path);
  const { client } = await connect(context, flags);
  const capture = await client.getCapture(uuid, { signal });
  if (flags.har !== undefined) {
    await saveBlob(flags.har, await existing(uuid, 'diagnostics', client.getHar(uuid, { signal })));
  }
  if (flags.lastPicture !== undefined) {
    await saveBlob(flags.lastPicture, await existing(uuid, 'last picture', client.getLastPicture(uuid, { signal })));
  }
  if (flags.output !== undefined) {
    if (!('fileUrl' in capture) || capture.status !== 'completed') {
      throw new CliError('notFound', `The capture ${uuid} has no file: it is ${capture.status}.`);
    }
    await saveFile(context, client, capture, flags.output);
    if (flags.output === '-') return;
  }
  if (flags.diagnostics !== true) {
    terminal.stdout.write(flags.json === true ? json(capture) : facts(factsOf(capture)));
    return;
  }
  const diagnostics = await existing(uuid, 'diagnostics', client.getDiagnostics(uuid, { signal }));
  if (flags.json === true) terminal.stdout.write(json(diagnostics));
  else terminal.stdout.write(facts(factsOf(capture)) + describeDiagnostics(diagnostics, terminal.stdout.columns));
}

const saveBlob = async (path: string, blob: Blob) => writeAtomically(path, await blob.bytes());

/** @throws CliError `notFound` if the result is null */
async function existing<T>(uuid: string, what: string, get: Promise<T | null>): Promise<T> {
  const found = await get;
  if (found !== null) return found;
  const hint = 'A capture has diagnostics if it failed in the browser, or if it was captured with --diagnostics.';
  throw new CliError('notFound', `The capture ${uuid} has no ${what}. ${hint}`);
}

function factsOf(capture: Capture): (readonly [string, string | number | undefined])[] {
  const { uuid, status, region, metadata, tokenCost } = capture;
  const all: (readonly [string, string | number | undefined])[] = [
    ['uuid', uuid],
    ['status', status],
    ['url', metadata.url],
    ['format', metadata.format],
    ['region', region],
    ['tokens', tokenCost],
  ];
  if ('fileUrl' in capture) all.push(['file', capture.fileUrl]);
  if ('error' in capture) all.push(['error', `${capture.error.code}: ${capture.error.message}`]);
  if ('acceptedAt' in capture) all.push(['accepted', capture.acceptedAt]);
  if ('report' in capture) {
    const { width, height, capturedAt, expiresAt } = capture.metadata;
    all.push(['title', capture.report.title], ['size', `${width} × ${height} px, ${capture.fileSizeBytes} bytes`]);
    all.push(['captured', capturedAt], ['expires', expiresAt]);
    if (capture.refresh !== undefined) {
      const { state, error } = capture.refresh;
      all.push(['refresh', error === null ? state : `${state}: ${error.code}: ${error.message}`]);
    }
    for (const remark of remarks(capture.report)) all.push(['note', remark]);
  }
  if ('webhook' in capture && capture.webhook !== undefined) {
    all.push(['webhook', `${capture.webhook.url} (${capture.webhook.state})`]);
  }
  return all;
}
