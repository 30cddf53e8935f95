import { extname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { existsSync } from 'node:fs';
import type { CaptureResult, PendingCapture, Webcapture } from '@webcapture/client';
import { Command } from 'commander';
import { describeReport, isProblem } from '@webcapture/shared/api/describe-report.ts';
import { formats, type Format } from '@webcapture/shared/api/formats.ts';
import { flagOf } from '@webcapture/shared/api/option-flags.ts';
import { addConnectionFlags, type ConnectionFlags, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { checkOutput, writeAtomically, readUserFile } from '../files.ts';
import { json } from '../json.ts';
import { plainText } from '../text.ts';
import { showWhile, readAll } from '../terminal.ts';
import { addCaptureFlags, readCaptureFlags } from './flags.ts';
import { asCaptureOptions, findProblems } from './options.ts';

interface CaptureFlags extends ConnectionFlags {
  readonly output?: string;
  readonly json?: boolean;
}

const examples = `
Examples:
  webcapture capture https://example.com -o example.png
  webcapture capture https://example.com -o example.pdf --pdf-paper A5
  webcapture capture page.html -o page.webp --full-page --device "iPhone 15"
  generate-report | webcapture capture - -o - > report.png

Repeat the flag of a list for each value: --hide .ad --hide .banner
--no-… sets a switch to false, such as --no-java-script.`;

export function captureCommand(context: Context): Command {
  const command = new Command('capture')
    .description('Capture a web page, or HTML, as an image or PDF.')
    .argument('<source>', 'http or https URL of a page, an HTML file, or - for HTML on standard input')
    .option(
      '-o, --output <file>',
      'path of the file; - is standard output. The extension sets the format. Without this flag, the command prints the URL of the file',
    )
    .option('--json', 'print the response of the service as JSON');
  return addConnectionFlags(addCaptureFlags(command))
    .addHelpText('after', examples)
    .action((source: string, flags: CaptureFlags) => capture(context, source, flags));
}

async function capture(context: Context, text: string, flags: CaptureFlags): Promise<void> {
  const { terminal, signal } = context;
  const options = await readCaptureFlags(flags as Record<string, unknown>);
  if (flags.output === '-' && flags.json === true) {
    throw new CliError('usage', '--json and -o - would both write to standard output. Write the file to a path.');
  }
  if (flags.output !== undefined) await checkOutput(terminal, flags.output);
  const format = chooseFormat(flags.output, options['format'] as Format | undefined);
  const extracting = ['extract', 'extractFields'].find((name) => options[name] !== undefined);
  if (flags.output === '-' && extracting !== undefined) {
    throw new CliError(
      'usage',
      `${flagOf([extracting])} and -o - would both write to standard output. Write the file to a path.`,
    );
  }
  const source = await readSource(context, text);
  const problems = findProblems({ ...source }, () => 'The source');
  if (problems.length > 0) throw new CliError('usage', `${problems.join('; ')}.`);

  const request = { ...options, ...(format === undefined ? {} : { format }), ...source };
  const { client } = await connect(context, flags);
  const answer = await showWhile(terminal, 'Capturing', () => client.capture(asCaptureOptions(request), { signal }));
  const result = flags.output === undefined ? answer : await completed(context, client, answer);
  if (flags.output !== undefined) await saveFile(context, client, result, flags.output);

  const extracted = 'extracted' in result ? result.extracted : undefined;
  if (flags.json === true) terminal.stdout.write(json(result));
  else if (extracted) terminal.stdout.write(partsOf(extracted, terminal.stdout.isTTY === true));
  else if (flags.output === undefined) terminal.stdout.write(`${plainText(result.fileUrl)}\n`);
  if (flags.output !== '-' && flags.json !== true) terminal.stderr.write(describe(result, flags.output));
}

/**
 * Returns the extracted parts for standard output: a single text unquoted, anything else as JSON. For a terminal, the text is made safe to
 * print. Files and programs get it unchanged.
 */
function partsOf({ truncated = [], ...parts }: NonNullable<CaptureResult['extracted']>, isTerminal: boolean): string {
  const [first, ...more] = Object.values(parts);
  if (typeof first !== 'string' || more.length > 0)
    return json({ ...parts, ...(truncated.length > 0 && { truncated }) });
  return `${isTerminal ? plainText(first) : first}\n`;
}

const formatsByExtension: Readonly<Record<string, Format>> = {
  '.png': 'png',
  '.jpg': 'jpeg',
  '.jpeg': 'jpeg',
  '.webp': 'webp',
  '.pdf': 'pdf',
  '.json': 'none',
};

/** Returns the format of --format, or of the file extension; both must agree. */
function chooseFormat(output: string | undefined, given: Format | undefined): Format | undefined {
  const extension = output === undefined || output === '-' ? '' : extname(output).toLowerCase();
  const guessed = formatsByExtension[extension];
  if (given === undefined) {
    if (guessed !== undefined || extension === '') return guessed;
    throw new CliError(
      'usage',
      `The extension ${extension} of --output is not a known format. Use .png, .jpg, .webp, .pdf or .json, or --format with one of ${formats.join(', ')}.`,
    );
  }
  if (guessed !== undefined && guessed !== given) {
    throw new CliError('usage', `--format ${given} does not match the extension of --output ${output}.`);
  }
  return given;
}

/** Waits for a background capture if its file is requested. */
async function completed(
  { terminal, signal }: Context,
  client: Webcapture,
  answer: CaptureResult | PendingCapture,
): Promise<CaptureResult> {
  if ('report' in answer) return answer;
  const ended = await showWhile(terminal, `Waiting for the capture ${answer.uuid}`, () =>
    client.waitFor(answer.uuid, { signal }),
  );
  if ('report' in ended && ended.status === 'completed') return ended;
  throw new CliError('captureFailed', `The capture ${answer.uuid} has no file: it is ${ended.status}.`);
}

/** @throws CliError `file`; the message contains the address of the completed capture */
export async function saveFile(
  { terminal, signal }: Context,
  client: Webcapture,
  { fileUrl, uuid }: Pick<CaptureResult, 'fileUrl' | 'uuid'>,
  output: string,
): Promise<void> {
  const { stream } = await client.file(fileUrl, { signal });
  if (output === '-') {
    await pipeline(stream, terminal.stdout, { end: false, signal });
    return;
  }
  try {
    await writeAtomically(output, stream);
  } catch (error) {
    if (!(error instanceof CliError) || error.kind !== 'file') throw error;
    const message = `${error.message} The capture has completed. To get its file: webcapture captures get ${uuid} -o <file>`;
    throw new CliError('file', message, { cause: error });
  }
}

function describe(answer: CaptureResult | PendingCapture, output: string | undefined): string {
  if (!('report' in answer)) {
    return `Queued as ${answer.uuid} in ${answer.region}. "webcapture captures get ${answer.uuid}" shows its state.\n`;
  }
  const { metadata, report, tokenCost, processingTimeMs, fromCache } = answer;
  const cost = fromCache ? 'from the cache' : `${tokenCost} token${tokenCost === 1 ? '' : 's'}`;
  const { format, width, height } = metadata;
  const facts = format === 'none' ? 'json' : `${format}, ${width} × ${height} px`;
  const line = `${output ?? answer.uuid}: ${facts}, ${bytes(metadata.fileSizeBytes)}, ${(processingTimeMs / 1000).toFixed(1)} s, ${cost}\n`;
  return `${plainText(line)}${remarks(report)
    .map((remark) => `Note: ${plainText(remark)}\n`)
    .join('')}`;
}

/**
 * Returns the remarks of a report for the user. They may contain text of the page, which is sanitized when it is
 * printed.
 */
export function remarks(report: CaptureResult['report']): string[] {
  return describeReport(report, (option) => flagOf([option]))
    .filter(isProblem)
    .map(({ text, quote }) => (quote === undefined ? text : `${text} ${quote}`));
}

function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  return count < 1e6 ? `${(count / 1000).toFixed(0)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

/** Those fields of a request that select the page. */
type Source = { readonly url: string } | { readonly html: string };

/**
 * Reads the source of a request. A URL is used unchanged; a file, or standard input for `-`, is read as HTML. @throws CliError `usage` or
 * `file`
 */
async function readSource({ terminal }: Pick<Context, 'terminal'>, text: string): Promise<Source> {
  if (/^https?:\/\//i.test(text)) return { url: text };
  if (text === '-') return { html: asHtml(await readAll(terminal.stdin), 'Standard input') };
  if (existsSync(text)) return { html: asHtml(await readUserFile(text), text) };
  const isAddress = /^[\w-]+(\.[\w-]+)+(:\d+)?([/?#]|$)/.test(text) || /^localhost(:\d+)?([/?#]|$)/.test(text);
  const hint = isAddress ? ` For a web page, use its full URL: https://${text}` : '';
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(text)?.[1];
  if (scheme !== undefined) {
    throw new CliError(
      'usage',
      `${scheme} addresses cannot be captured: only http and https, files by their path, and - for standard input.`,
    );
  }
  throw new CliError('usage', `There is no file ${text}.${hint}`);
}

function asHtml(bytes: Buffer, name: string): string {
  let html: string;
  try {
    html = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CliError('usage', `${name} is not HTML in UTF-8.`, { cause: error });
  }
  if (html.trim() === '') throw new CliError('usage', `${name} is empty; it must be HTML.`);
  // The service decodes a text without "<" as base64, so such HTML is encoded.
  return html.includes('<') ? html : bytes.toString('base64');
}
