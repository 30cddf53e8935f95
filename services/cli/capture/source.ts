import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { readUserFile } from '../files.ts';
import { readAll } from '../terminal.ts';

/** The fields of a request that select the page. */
export type Source = { readonly url: string } | { readonly html: string };

/** A URL is used unchanged; a file, or standard input for `-`, is read as HTML. @throws CliError `usage` or `file` */
export async function readSource({ terminal }: Pick<Context, 'terminal'>, text: string): Promise<Source> {
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
  // The service decodes text without "<" as base64.
  return html.includes('<') ? html : bytes.toString('base64');
}
