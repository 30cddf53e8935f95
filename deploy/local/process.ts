import { fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { endLimitMs, markVariable } from './leftovers.mjs';

export type OutputStream = 'stdout' | 'stderr';

export interface ProcessOptions {
  /** Shown by `ps` beside the guard, and in errors. */
  readonly name: string;
  /** A path, or a name that is looked up in the PATH of `env`. */
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the process; by default that of this one. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Gets every line of output, without its end; by default the output is thrown away. */
  readonly onLine?: (line: string, stream: OutputStream) => void;
  /** Milliseconds from SIGTERM to SIGKILL when this process itself dies (default 3 s); 0 kills at once. */
  readonly graceOnLossMs?: number;
  /** During any grace, let the process come to its end by itself instead of sending it SIGTERM. */
  readonly patient?: boolean;
}

/** How a process ended: `code` when it exited by itself, else the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface GuardedProcess extends AsyncDisposable {
  readonly name: string;
  /** The process itself, not its guard. */
  readonly pid: number;
  /** Resolves when the process and all its descendants are gone and its last line was delivered; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal to the process itself. */
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL to the process and all its descendants after the grace (default 5 s; 0 kills at once). */
  stop(options?: { readonly graceMs?: number }): Promise<ProcessExit>;
}

type Report =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly message: string }
  | ({ readonly type: 'exited' } & ProcessExit);

const guardPath = fileURLToPath(new URL('guard.mjs', import.meta.url));

/** A guard that has not killed what is left when its own limit is over is a stopped or broken one, and given up. */
const guardSlackMs = endLimitMs + 2000;

/**
 * Starts a process that cannot outlive this one: it runs under a small guard process in a session of its own (Ctrl-C in
 * the terminal does not reach it), and the guard ends it, with all its descendants, when this process stops it or dies,
 * even by SIGKILL. Throws when the command cannot be started.
 */
export async function startProcess(options: ProcessOptions): Promise<GuardedProcess> {
  const guard = fork(guardPath, [options.name], {
    detached: true,
    // Node's own options of this process (an inspector's port, a loader) are not for the guard.
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
    // Without effect after an orderly end; when the guard itself was killed, this ends what it guarded.
    if (pid !== undefined) killGroup(pid);
    started.reject(new Error(`${options.name} could not be started: its guard ended`));
    gone.resolve();
  });
  const tell = (order: object) => {
    // A guard that is already gone has nothing left to do.
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
    // A descendant that fled every net could hold the pipes open.
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
    // No process of the group is left.
  }
}
