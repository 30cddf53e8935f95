import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A script of Node.js that reads hostile bytes from stdin and writes its result to stdout. */
export interface ConfinedScript {
  readonly path: string;
  readonly args?: readonly string[];
  /** Options of Node.js itself. */
  readonly nodeOptions: readonly string[];
  /** Limit of the data of the process, including 50 MiB of Node.js. */
  readonly maxDataKiB: number;
  /** Limit of processor time in seconds. */
  readonly maxCpuSeconds: number;
  /** Limit of the output. The process is killed if it exceeds the limit. */
  readonly maxOutputBytes: number;
}

/** How a confined process ended. */
export interface ProcessEnd {
  /** Exit code. Null means that a signal ended the process, because it crashed, reached a limit or was killed. */
  readonly code: number | null;
  readonly output: Buffer;
  /** The last part of what the process wrote to stderr. */
  readonly reason: string;
  /** Set if the process could not be started. */
  readonly failure?: Error;
}

const maxReasonLength = 500;

/**
 * Runs a script in a separate process. If the script crashes, or its input is a decompression bomb, the process ends and the service is not
 * affected. The process has no environment, and therefore no credentials. It inherits no connections. It has the same user as the service,
 * so against code that was taken over, only the sandbox of the pod protects (docs/security.md).
 *
 * @param input bytes for stdin; the caller handles its errors
 * @param signal kills the process when it aborts
 * @returns how the process ended; does not throw
 */
export async function runConfined(
  { path, args = [], nodeOptions, maxDataKiB, maxCpuSeconds, maxOutputBytes }: ConfinedScript,
  input: Readable | AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<ProcessEnd> {
  const limits = `ulimit -c 0; ulimit -d ${maxDataKiB}; ulimit -t ${maxCpuSeconds}; exec "$0" "$@"`;
  const child = spawn('/bin/sh', ['-c', limits, process.execPath, ...nodeOptions, path, ...args], {
    env: {},
    signal,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<{ code: number | null; failure?: Error }>((resolve) => {
    // A killed process emits `error` as well, but its memory is released only when it emits `close`.
    child.once('error', (failure) => child.pid === undefined && resolve({ code: null, failure }));
    child.once('close', (code) => resolve({ code }));
  });
  let reason = '';
  child.stderr.on('data', (part: Buffer) => (reason = (reason + part.toString()).slice(-maxReasonLength)));
  // A script may end before it has read all of its input.
  pipeline(input, child.stdin).catch(() => undefined);
  const parts: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (part: Buffer) => {
    parts.push(part);
    size += part.length;
    if (size > maxOutputBytes) child.kill('SIGKILL');
  });
  return { ...(await ended), output: Buffer.concat(parts), reason };
}

/**
 * Passes on bytes for the input of a process, and keeps the error of their source. For the process, an error looks like the end of the
 * input.
 */
export function keepFailure(source: AsyncIterable<Uint8Array>): {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Returns the error; undefined if there is none. */
  readonly failure: () => unknown;
} {
  let failure: unknown;
  async function* bytes() {
    try {
      yield* source;
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  return { bytes: bytes(), failure: () => failure };
}
