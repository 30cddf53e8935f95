const levels: Readonly<Record<string, string>> = {
  TRC: 'trace',
  DBG: 'debug',
  INF: 'info',
  WRN: 'warn',
  ERR: 'error',
  FTL: 'fatal',
};

/**
 * Converts a line of nats-server to the JSON format of the services' logs. Returns undefined for lines without
 * importance: the server prints two dozen lines at each start.
 */
export function natsLogEntry(line: string): string | undefined {
  const [, time = '', code = '', msg = ''] = /^\[\d+\] (\S+ \S+) \[(\w{3})\] (.*)$/.exec(line) ?? [];
  const level = levels[code];
  if (level === undefined) return line;
  // The passwords are in a file that only its owner can read, and are valid for one start.
  if (msg.startsWith('Plaintext passwords detected')) return undefined;
  if (['trace', 'debug', 'info'].includes(level)) return undefined;
  return JSON.stringify({ time: time.replaceAll('/', '-'), level, msg });
}
