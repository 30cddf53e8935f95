import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { flagOf } from '@webcapture/shared/api/option-flags.ts';
import { replaceUnsafe, unicodeEscape } from '@webcapture/shared/api/untrusted-text.ts';
import type { Body } from './schema.ts';

/** The request in the languages that people start with. The key comes from the environment: what is copied is passed on. */
export interface Sample {
  readonly title: string;
  /** Made when it is looked at: the request may hold a page of a megabyte. */
  readonly code: () => string;
}

export function samplesOf(serviceUrl: string, request: Body, schema: JsonSchema): readonly Sample[] {
  const file = `capture.${typeof request['format'] === 'string' ? request['format'] : 'png'}`;
  const isBackground = request['background'] === true;
  return [
    { title: 'curl', code: () => withoutDirections(curl(serviceUrl, request, file, isBackground)) },
    { title: 'TypeScript', code: () => withoutDirections(typescript(serviceUrl, request, file, isBackground)) },
    { title: 'Python', code: () => withoutDirections(python(serviceUrl, request, file, isBackground)) },
    { title: 'Command line', code: () => commandLine(serviceUrl, request, isBackground ? null : file, schema) },
  ];
}

function curl(serviceUrl: string, request: Body, file: string, isBackground: boolean): string {
  const body = isBackground ? request : { ...request, responseType: 'file' };
  return [
    `curl -sS --fail-with-body ${word(`${serviceUrl}/capture`)}`,
    '-H "Authorization: Bearer $WEBCAPTURE_API_KEY"',
    "-H 'Content-Type: application/json'",
    ...dataOf(JSON.stringify(body, null, 2), isBackground ? '' : ` -o ${file}`),
  ].join(' \\\n  ');
}

/** Linux takes no argument of more than 128 KiB; a UTF-16 unit is at most three bytes. */
const maxArgumentLength = 40_000;

function dataOf(json: string, output: string): string[] {
  if (json.length <= maxArgumentLength) return [`-d ${word(json)}${output}`];
  // No line of JSON is a bare word.
  return [`-d @-${output} <<'JSON'\n${json}\nJSON\n`];
}

function typescript(serviceUrl: string, request: Body, file: string, isBackground: boolean): string {
  const client = `const client = new Webcapture({ url: ${literal(serviceUrl)}, apiKey: process.env.WEBCAPTURE_API_KEY });`;
  if (isBackground) {
    return `import { Webcapture } from '@webcapture/client';

${client}
const { uuid } = await client.capture(${literal(request)});
const capture = await client.waitFor(uuid);
console.log(capture);
`;
  }
  return `import { writeFile } from 'node:fs/promises';
import { Webcapture } from '@webcapture/client';

${client}
const { stream } = await client.captureFile(${literal(request)});
await writeFile('${file}', stream);
`;
}

/** Marks that turn the direction of text would show code in another order than it runs in: as escapes they are harmless. */
function withoutDirections(code: string): string {
  return replaceUnsafe(code, unicodeEscape);
}

/** JSON as JavaScript is written: names without quotes, texts in single ones. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const deeper = `${indent}  `;
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, indent)).join(', ')}]`;
  const name = (key: string) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key));
  const fields = Object.entries(value).map(([key, each]) => `${deeper}${name(key)}: ${literal(each, deeper)},\n`);
  return fields.length === 0 ? '{}' : `{\n${fields.join('')}${indent}}`;
}

function python(serviceUrl: string, request: Body, file: string, isBackground: boolean): string {
  const body = isBackground ? request : { ...request, responseType: 'file' };
  const ending = isBackground
    ? `print(response.json()["data"]["uuid"])`
    : `with open("${file}", "wb") as file:\n    file.write(response.content)`;
  return `import os

import requests

response = requests.post(
    ${JSON.stringify(`${serviceUrl}/capture`)},
    headers={"Authorization": f"Bearer {os.environ['WEBCAPTURE_API_KEY']}"},
    json=${pythonLiteral(body, '    ')},
    timeout=300,
)
response.raise_for_status()
${ending}
`;
}

function pythonLiteral(value: unknown, indent: string): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null) return 'None';
  // What JSON escapes, Python reads alike.
  if (typeof value !== 'object') return JSON.stringify(value);
  const deeper = `${indent}    `;
  if (Array.isArray(value)) return `[${value.map((each) => pythonLiteral(each, indent)).join(', ')}]`;
  const fields = Object.entries(value).map(
    ([key, each]) => `${deeper}${JSON.stringify(key)}: ${pythonLiteral(each, deeper)},\n`,
  );
  return fields.length === 0 ? '{}' : `{\n${fields.join('')}${indent}}`;
}

/** @param file null: the capture is left in the background */
function commandLine(serviceUrl: string, request: Body, file: string | null, { properties = {} }: JsonSchema): string {
  const { url, html: given, ...options } = request;
  const html = typeof given === 'string' ? plainHtml(given) : undefined;
  const flags = Object.entries(options).flatMap(([name, value]) => flagsOf([name], value, properties[name] ?? {}));
  const source = typeof url === 'string' ? word(url) : '-';
  const output = file === null ? [] : [`-o ${file}`];
  const command = [`webcapture capture ${source}`, ...flags, ...output].join(' \\\n  ');
  const page = html === undefined ? '' : ` <<'${delimiterFor(html)}'\n${html}\n${delimiterFor(html)}`;
  // A comment would not do to name the key: an interactive zsh knows none.
  return `export WEBCAPTURE_API_KEY WEBCAPTURE_URL=${word(serviceUrl)}\n${command}${page}\n`;
}

/** HTML may be in base64, which on standard input would be a page of just that text. */
function plainHtml(html: string): string {
  if (html.includes('<')) return html;
  try {
    const bytes = Uint8Array.from(atob(html.replaceAll('-', '+').replaceAll('_', '/')), (byte) => byte.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return html;
  }
}

/** As services/cli reads them: a flag for each leaf, repeated for lists, `Name: value` for records, JSON for what has fields. */
function flagsOf(path: readonly string[], value: unknown, schema: JsonSchema): string[] {
  const flag = flagOf(path);
  if (typeof value === 'boolean') return [value ? flag : flag.replace('--', '--no-')];
  if (Array.isArray(value)) return value.map((each) => `${flag} ${word(textOf(each))}`);
  if (typeof value !== 'object' || value === null) return [`${flag} ${word(textOf(value))}`];
  const { properties } = schema;
  if (properties !== undefined) {
    return Object.entries(value).flatMap(([name, each]) => flagsOf([...path, name], each, properties[name] ?? {}));
  }
  if (typeof schema.additionalProperties === 'object') {
    return Object.entries(value).map(([name, each]) => `${flag} ${word(`${name}: ${textOf(each)}`)}`);
  }
  return [`${flag} ${word(JSON.stringify(value))}`];
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** One word of a POSIX shell. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A line that the text does not contain. */
function delimiterFor(text: string): string {
  const lines = new Set(text.split('\n'));
  let delimiter = 'HTML';
  while (lines.has(delimiter)) delimiter += '_';
  return delimiter;
}
