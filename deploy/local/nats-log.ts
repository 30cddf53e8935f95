const levels: Readonly<Record<string, string>> = {
  TRC: 'trace',
  DBG: 'debug',
  INF: 'info',
  WRN: 'warn',
  ERR: 'error',
  FTL: 'fatal',
};

/**
 * A line of nats-server as the JSON that our services log, so that it is shown like theirs. Undefined for what is only
 * of interest when one looks for it: the server prints two dozen lines at each start.
 */
export function natsLogEntry(line: string): string | undefined {
  const [, time = '', code = '', msg = ''] = /^\[\d+\] (\S+ \S+) \[(\w{3})\] (.*)$/.exec(line) ?? [];
  const level = levels[code];
  if (level === undefined) return line;
  // They are in a file that its owner alone can read, and hold for one start.
  if (msg.startsWith('Plaintext passwords detected')) return undefined;
  if (['trace', 'debug', 'info'].includes(level)) return undefined;
  return JSON.stringify({ time: time.replaceAll('/', '-'), level, msg });
}
