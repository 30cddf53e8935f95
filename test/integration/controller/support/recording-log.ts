import type { Logger } from '@webcapture/shared/runtime/logger.ts';

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly component?: string;
  readonly was?: string;
  readonly now?: string;
}

/** A logger that keeps the log lines of the controller. */
export function recordingLog(lines: LogLine[]): Logger {
  const at = (level: string) => (fields: object | string, message?: string) => {
    lines.push(typeof fields === 'string' ? { level, message: fields } : { ...fields, level, message: message ?? '' });
  };
  const log = Object.fromEntries(['debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, at(level)]));
  return log as unknown as Logger;
}
