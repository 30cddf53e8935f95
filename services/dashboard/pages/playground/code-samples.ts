import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { flagOf } from '@webcapture/shared/api/option-flags.ts';
import { replaceUnsafe, unicodeEscape } from '@webcapture/shared/api/untrusted-text.ts';
import { shellWord } from '../../shell/format.ts';
import clientPackage from '../../../client/package.json' with { type: 'json' };
import type { Body } from './schema.ts';

/** Code that sends the request, in one language. It reads the key from the environment, because people share copied code. */
export interface Sample {
  readonly title: string;
  /** Builds the code. It is called only when the sample is shown, because the request may contain a page of a megabyte. */
  readonly code: () => string;
  /** Commands that install what the code imports, as in the README of the client. */
  readonly install?: { readonly fromRelease: string; readonly fromCheckout: string };
}

const { version } = clientPackage;
const install = {
  fromRelease: `npm install https://github.com/OWNER/webcapture/releases/download/v${version}/webcapture-client-${version}.tgz`,
  fromCheckout: 'npm pack "$CHECKOUT/services/client" && npm install ./webcapture-client-*.tgz',
};

export function samplesOf(serviceUrl: string, request: Body, schema: JsonSchema): readonly Sample[] {
  const { format = 'png' } = request;
  const isBackground = request['background'] === true;
  const file = isBackground || format === 'none' ? null : `capture.${String(format)}`;
  return [
    { title: 'curl', code: () => withoutDirections(curl(serviceUrl, request, file)) },
    {
      title: 'TypeScript',
      install,
      code: () => withoutDirections(typescript(serviceUrl, request, file, isBackground)),
    },
    { title: 'Python', code: () => withoutDirections(python(serviceUrl, request, file, isBackground)) },
    { title: 'Command line', code: () => commandLine(serviceUrl, request, file, schema) },
  ];
}

/** @param file null if the response has no file */
function curl(serviceUrl: string, request: Body, file: string | null): string {
  const body = bodyOf(request, file);
  return [
    `curl -sS --fail-with-body ${shellWord(`${serviceUrl}/capture`)}`,
    '-H "Authorization: Bearer $WEBCAPTURE_API_KEY"',
    "-H 'Content-Type: application/json'",
    ...dataOf(JSON.stringify(body, null, 2), file === null ? '' : ` -o ${file}`),
  ].join(' \\\n  ');
}

const bodyOf = (request: Body, file: string | null): Body =>
  file === null ? request : { ...request, responseType: 'file' };

/** Maximum length of an argument in UTF-16 units. Linux limits one argument to 128 KiB, and a unit takes at most three bytes. */
const maxArgumentLength = 40_000;

function dataOf(json: string, output: string): string[] {
  if (json.length <= maxArgumentLength) return [`-d ${shellWord(json)}${output}`];
  // A line of JSON is never a plain word, so it cannot end the here-document early.
  return [`-d @-${output} <<'JSON'\n${json}\nJSON\n`];
}

function typescript(serviceUrl: string, request: Body, file: string | null, isBackground: boolean): string {
  const client = `const client = new Webcapture({ url: ${literal(serviceUrl)}, apiKey: process.env.WEBCAPTURE_API_KEY });`;
  if (isBackground) {
    return `import { Webcapture } from '@webcapture/client';

${client}
const { uuid } = await client.capture(${literal(request)});
const capture = await client.waitFor(uuid);
console.log(capture);
`;
  }
  if (file === null) {
    return `import { Webcapture } from '@webcapture/client';

${client}
const { extracted } = await client.capture(${literal(request)});
console.log(extracted);
`;
  }
  return `import { writeFile } from 'node:fs/promises';
import { Webcapture } from '@webcapture/client';

${client}
const { stream } = await client.captureFile(${literal(request)});
await writeFile('${file}', stream);
`;
}

/** Replaces direction marks by escapes. The marks would show code in another order than it runs in. */
function withoutDirections(code: string): string {
  return replaceUnsafe(code, unicodeEscape);
}

/** Formats JSON in JavaScript style: names without quotes, strings in single quotes. */
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

function python(serviceUrl: string, request: Body, file: string | null, isBackground: boolean): string {
  const body = bodyOf(request, file);
  const ending =
    file === null
      ? `print(response.json()["data"]["${isBackground ? 'uuid' : 'extracted'}"])`
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
  // Python reads JSON escapes in the same way.
  if (typeof value !== 'object') return JSON.stringify(value);
  const deeper = `${indent}    `;
  if (Array.isArray(value)) return `[${value.map((each) => pythonLiteral(each, indent)).join(', ')}]`;
  const fields = Object.entries(value).map(
    ([key, each]) => `${deeper}${JSON.stringify(key)}: ${pythonLiteral(each, deeper)},\n`,
  );
  return fields.length === 0 ? '{}' : `{\n${fields.join('')}${indent}}`;
}

/** @param file null if no file is written */
function commandLine(serviceUrl: string, request: Body, file: string | null, { properties = {} }: JsonSchema): string {
  const { url, html: given, ...options } = request;
  const html = typeof given === 'string' ? plainHtml(given) : undefined;
  const flags = Object.entries(options).flatMap(([name, value]) => flagsOf([name], value, properties[name] ?? {}));
  const source = typeof url === 'string' ? shellWord(url) : '-';
  const output = file === null ? [] : [`-o ${file}`];
  const command = [`webcapture capture ${source}`, ...flags, ...output].join(' \\\n  ');
  const page = html === undefined ? '' : ` <<'${delimiterFor(html)}'\n${html}\n${delimiterFor(html)}`;
  // The export shows the name of the key's variable. A comment would not work in interactive zsh.
  return `export WEBCAPTURE_API_KEY WEBCAPTURE_URL=${shellWord(serviceUrl)}\n${command}${page}\n`;
}

/** Returns HTML as plain text. It may be base64, which the command would read from standard input as the text of the page. */
function plainHtml(html: string): string {
  if (html.includes('<')) return html;
  try {
    const bytes = Uint8Array.from(atob(html.replaceAll('-', '+').replaceAll('_', '/')), (byte) => byte.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return html;
  }
}

/**
 * Uses the flag format of services/cli: a flag for each leaf, repeated flags for lists, `Name: value` for records, and JSON for objects
 * with fields.
 */
function flagsOf(path: readonly string[], value: unknown, schema: JsonSchema): string[] {
  const flag = flagOf(path);
  if (typeof value === 'boolean') return [value ? flag : flag.replace('--', '--no-')];
  if (Array.isArray(value)) return value.map((each) => `${flag} ${shellWord(textOf(each))}`);
  if (typeof value !== 'object' || value === null) return [`${flag} ${shellWord(textOf(value))}`];
  const { properties } = schema;
  if (properties !== undefined) {
    return Object.entries(value).flatMap(([name, each]) => flagsOf([...path, name], each, properties[name] ?? {}));
  }
  if (typeof schema.additionalProperties === 'object') {
    return Object.entries(value).map(([name, each]) => `${flag} ${shellWord(`${name}: ${textOf(each)}`)}`);
  }
  return [`${flag} ${shellWord(JSON.stringify(value))}`];
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Returns a line that the text does not contain. */
function delimiterFor(text: string): string {
  const lines = new Set(text.split('\n'));
  let delimiter = 'HTML';
  while (lines.has(delimiter)) delimiter += '_';
  return delimiter;
}
