import { startProcess } from '../local/process.ts';

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Time from SIGTERM to SIGKILL. It applies at the timeout, after an abort, and when this process exits. Default: 2 s. */
  readonly graceMs?: number;
  /** Whether no SIGTERM is sent, so that the command can end by itself during the grace period. */
  readonly patient?: boolean;
}

/**
 * Runs a command and returns its output. The command and all its descendants end with this process, at the timeout, or
 * when the signal aborts. Throws an Error with the last printed line unless the command exits with 0.
 */
export async function runCommand(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { timeoutMs, signal, graceMs = 2000, patient = false } = options;
  signal.throwIfAborted();
  const output: string[] = [];
  const child = await startProcess({
    name: command,
    command,
    args,
    ...(options.env ? { env: options.env } : {}),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    onLine: (line) => output.push(line),
    graceOnLossMs: graceMs,
    patient,
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const stop = () => void child.stop({ graceMs });
  limit.addEventListener('abort', stop, { once: true });
  const exit = await child.exited;
  limit.removeEventListener('abort', stop);

  signal.throwIfAborted();
  if (limit.aborted) throw new Error(`exceeded its limit of ${Math.round(timeoutMs / 1000)} s`);
  if (exit.code !== 0) {
    const last = output.findLast((line) => line.trim() !== '')?.trim();
    throw new Error(
      `${exit.code === null ? `ended by ${exit.signal}` : `exit code ${exit.code}`}: ${last ?? 'no output'}`,
    );
  }
  return output.join('\n');
}
