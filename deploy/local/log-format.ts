import { inspect, styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

const levelStyles: Readonly<Record<string, Style>> = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: ['red', 'bold'],
};

const prefixStyles: readonly Style[] = ['cyan', 'magenta', 'blue', 'yellow', 'green', 'cyanBright', 'magentaBright'];

/** Fields that are part of the prefix already, or that do not help a person. */
const hiddenFields = new Set(['time', 'level', 'msg', 'service', 'pod', 'pid', 'hostname', 'err', 'v']);

const maxFields = 6;
const maxFieldLength = 120;
const prefixWidth = 12;

export interface LogFormat {
  /** Formats a line that a process printed: a JSON log line is made readable, other text is unchanged. */
  readonly output: (name: string, line: string) => string;
  /** Formats a line of the supervisor. */
  readonly note: (name: string, text: string) => string;
}

/**
 * Creates a format for a terminal (`colors`) or for a file. Names get their colors in the order of their first line.
 */
export function createLogFormat(colors: boolean): LogFormat {
  const paint = (style: Style, text: string) => (colors ? styleText(style, text, { validateStream: false }) : text);
  const seen: string[] = [];
  const prefix = (name: string) => {
    if (!seen.includes(name)) seen.push(name);
    return paint(prefixStyles[seen.indexOf(name) % prefixStyles.length] ?? 'cyan', name.padEnd(prefixWidth));
  };
  return {
    note: (name, text) => text.replaceAll(/^/gm, `${prefix(name)} `),
    output: (name, line) => {
      const entry = parseEntry(line);
      if (entry === undefined) return `${prefix(name)} ${line}`;
      const level = typeof entry['level'] === 'string' ? entry['level'] : 'info';
      const parts = [
        prefix(name),
        paint('dim', clock(entry['time'])),
        paint(levelStyles[level] ?? 'reset', level.padEnd(5)),
        entry['msg'],
        paint('dim', fieldsOf(entry)),
      ];
      const head = parts.filter((part) => part !== '' && part !== undefined).join(' ');
      const stack = level === 'error' || level === 'fatal' ? stackOf(entry['err']) : '';
      return stack === '' ? head : `${head}\n${stack.replaceAll(/^/gm, `${prefix(name)}   `)}`;
    },
  };
}

/** Whether to use colors: on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function wantsColors(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  if (env['NO_COLOR']) return false;
  return Boolean(env['FORCE_COLOR'] && env['FORCE_COLOR'] !== '0') || stream.isTTY === true;
}

function parseEntry(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const entry: unknown = JSON.parse(line);
    return isRecord(entry) && typeof entry['msg'] === 'string' && 'level' in entry ? entry : undefined;
  } catch {
    return undefined;
  }
}

function fieldsOf(entry: Readonly<Record<string, unknown>>): string {
  const error = entry['err'];
  const shown = Object.entries(entry).filter(([name]) => !hiddenFields.has(name));
  const fields = shown.slice(0, maxFields).map(([name, value]) => `${name}=${short(value)}`);
  if (isRecord(error)) fields.unshift(`(${short(error['message'])})`);
  return fields.join(' ');
}

function stackOf(error: unknown): string {
  return isRecord(error) && typeof error['stack'] === 'string' ? error['stack'] : '';
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : inspect(value, { breakLength: Infinity, compact: true, depth: 3 });
  return text.length > maxFieldLength ? `${text.slice(0, maxFieldLength)}…` : text;
}

function clock(time: unknown): string {
  const date = new Date(typeof time === 'string' || typeof time === 'number' ? time : Number.NaN);
  if (Number.isNaN(date.getTime())) return '';
  const pad = (value: number, width = 2) => String(value).padStart(width, '0');
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
