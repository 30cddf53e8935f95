import { fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { endLimitMs, markVariable } from './leftovers.mjs';

export type OutputStream = 'stdout' | 'stderr';

export interface ProcessOptions {
  /** Name that `ps` shows next to the guard, and that errors contain. */
  readonly name: string;
  /** A path, or a name that is looked up in the PATH of `env`. */
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the process; by default that of this one. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Receives every line of output, without its line break; by default output is discarded. */
  readonly onLine?: (line: string, stream: OutputStream) => void;
  /** Milliseconds from SIGTERM to SIGKILL when this process exits. Default: 3 s; 0 kills immediately. */
  readonly graceOnLossMs?: number;
  /** Whether grace periods begin without a SIGTERM, so that the process can end by itself. */
  readonly patient?: boolean;
}

/** How a process ended: `code` if it exited, otherwise the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface GuardedProcess extends AsyncDisposable {
  readonly name: string;
  /** Pid of the process, not of its guard. */
  readonly pid: number;
  /** Resolves when the process and all its descendants have ended and its last line was delivered; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal to the process itself. */
  kill(signal: NodeJS.Signals): void;
  /** Sends SIGTERM. Sends SIGKILL to the process and all its descendants after the grace period (default 5 s; 0 kills immediately). */
  stop(options?: { readonly graceMs?: number }): Promise<ProcessExit>;
}

type Report =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly message: string }
  | ({ readonly type: 'exited' } & ProcessExit);

const guardPath = fileURLToPath(new URL('guard.mjs', import.meta.url));

/** Maximum time that a guard needs to kill remaining processes. A guard that exceeds it was stopped or is broken, and is abandoned. */
const guardSlackMs = endLimitMs + 2000;

/**
 * Starts a process that cannot outlive this one. It runs under a small guard process in a separate session, so that
 * Ctrl-C in the terminal does not reach it. The guard ends it with all its descendants when this process stops it or
 * exits, even by SIGKILL. Throws if the command cannot be started.
 */
export async function startProcess(options: ProcessOptions): Promise<GuardedProcess> {
  const guard = fork(guardPath, [options.name], {
    detached: true,
    // The guard must not inherit this process's Node options (an inspector's port, a loader).
    execArgv: [],
    env: { [markVariable]: process.env[markVariable] },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ['ignore', options.onLine ? 'pipe' : 'ignore', options.onLine ? 'pipe' : 'ignore', 'ipc'],
  });
  const delivered = Promise.all([deliver(guard.stdout, 'stdout', options), deliver(guard.stderr, 'stderr', options)]);
  let pid: number | undefined;
  let exit: ProcessExit = { code: null, signal: 'SIGKILL' };
  const started = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();

  guard.on('message', (message) => {
    const report = message as Report;
    if (report.type === 'started') {
      ({ pid } = report);
      started.resolve();
    } else if (report.type === 'failed') {
      started.reject(new Error(`${options.name} could not be started: ${report.message}`));
    } else {
      exit = { code: report.code, signal: report.signal };
    }
  });
  guard.once('error', (error) => started.reject(error));
  guard.once('exit', () => {
    // If the guard has ended in order, this has no effect. If the guard was killed, this ends its command.
    if (pid !== undefined) killGroup(pid);
    started.reject(new Error(`${options.name} could not be started: its guard ended`));
    gone.resolve();
  });
  const tell = (order: object) => {
    // A guard that has exited has ended its command.
    if (guard.connected) guard.send(order, () => undefined);
  };
  tell({
    type: 'start',
    command: options.command,
    args: options.args ?? [],
    env: options.env ?? process.env,
    graceOnLossMs: options.graceOnLossMs ?? 3000,
    patient: options.patient ?? false,
  });
  await started.promise;

  const exited = gone.promise
    // A descendant that was not found could keep the pipes open.
    .then(() => Promise.race([delivered, sleep(1000, undefined, { ref: false })]))
    .then(() => exit);
  const stop: GuardedProcess['stop'] = async ({ graceMs = 5000 } = {}) => {
    tell({ type: 'stop', graceMs });
    const giveUp = setTimeout(() => guard.kill('SIGKILL'), graceMs + guardSlackMs);
    return exited.finally(() => clearTimeout(giveUp));
  };
  return {
    name: options.name,
    pid: pid ?? 0,
    exited,
    kill: (signal) => tell({ type: 'signal', signal }),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

function deliver(stream: Readable | null, name: OutputStream, options: ProcessOptions): Promise<void> {
  if (stream === null) return Promise.resolve();
  const lines = createInterface({ input: stream, crlfDelay: Infinity });
  lines.on('line', (line) => options.onLine?.(line, name));
  return new Promise((resolve) => {
    lines.once('close', resolve);
  });
}

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // The process group does not exist any more.
  }
}
