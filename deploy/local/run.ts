import { join } from 'node:path';
import { ConfigError } from '@webcapture/shared/runtime/env.ts';
import { unknownVariables } from '@webcapture/shared/runtime/unknown-variables.ts';
import { ensureDashboard } from '../dashboard/ensure-dashboard.ts';
import { lockDataDir } from './data-lock.ts';
import { createLogFormat } from './log-format.ts';
import { followEdits } from './follow-edits.ts';
import { prepare, type PrepareOptions } from './prepare.ts';
import { readSettings } from './settings.ts';
import { affectedBy, describeEdit } from './source-changes.ts';
import { StartError } from './start-error.ts';
import { onStopSignals } from './stop-signals.ts';
import { Supervisor, type ProcessSpec } from './supervisor.ts';

/** Time limit for an interrupted set-up to end. If it is exceeded, the guards end the processes of the set-up. */
const setUpGraceMs = 3000;

export interface RunOptions extends Pick<PrepareOptions, 'env' | 'setUp' | 'services'> {
  /** The folder of the repository. */
  readonly root: string;
  /** Receives text for the terminal, in complete lines. */
  readonly print: (text: string) => void;
  readonly colors: boolean;
  /** Whether to restart services when their sources change, and to build the dashboard when its sources change. */
  readonly watch?: boolean;
}

/**
 * Sets up and starts the service, and keeps it running until a stop signal. When it returns the exit code, all
 * processes have ended. The code is 0 after an orderly stop, 130 after a stop before all were ready or an immediate
 * stop, 1 after a failure.
 */
export async function run(options: RunOptions): Promise<number> {
  const { print } = options;
  const format = createLogFormat(options.colors);
  const note = (line: string) => print(format.note('webcapture', line));
  const stopping = new AbortController();
  let supervisor: Supervisor | undefined;
  let orderly = false;
  onStopSignals(
    (why) => {
      note(`stopping (${why})`);
      stopping.abort(new Error('stopped'));
    },
    () => {
      note('stopping at once');
      orderly = false;
      if (supervisor === undefined) process.exit(130);
      void supervisor.stopAtOnce();
    },
  );
  let unlock: (() => void) | undefined;
  let failed = false;
  try {
    const settings = readSettings(options.env, options.root);
    for (const { message } of unknownVariables(options.env)) note(message);
    unlock = await lockDataDir(settings.dataDir);
    const output = (name: string, line: string) => print(format.output(name, line));
    const { signal } = stopping;
    const prepared = await Promise.race([
      prepare({ ...options, settings, note, output, signal }),
      aborted(signal, setUpGraceMs),
    ]);
    stopping.signal.throwIfAborted();
    supervisor = new Supervisor(prepared.processes, { log: note });
    await Promise.race([supervisor.start(), aborted(stopping.signal)]);
    print(prepared.banner());
    orderly = true;
    if (options.watch === true) applyEdits(options.root, prepared.processes, { supervisor, note, signal });
    await Promise.race([supervisor.failed, aborted(stopping.signal)]);
  } catch (error) {
    failed = !stopping.signal.aborted;
    if (failed) note(describe(error));
  }
  await supervisor?.stop();
  unlock?.();
  if (failed) return 1;
  note('stopped');
  return orderly ? 0 : 130;
}

/** Restarts and builds what edits of the sources affect, until the signal aborts. NATS keeps running. */
function applyEdits(
  root: string,
  processes: readonly ProcessSpec[],
  { supervisor, note, signal }: { supervisor: Supervisor; note: (line: string) => void; signal: AbortSignal },
): void {
  const onError = (error: Error) => note(`edits are no longer noticed: ${error.message}`);
  const onEdit = (paths: readonly string[]) => {
    const { services, dashboard } = affectedBy(paths);
    const names = processes.flatMap(({ name, service }) => (service && services.has(service) ? [name] : []));
    if (names.length > 0) note(`${describeEdit(paths)} changed: restarting ${names.join(', ')}`);
    for (const name of names) supervisor.restart(name);
    if (!dashboard) return;
    ensureDashboard({ log: note, signal }).catch((error: Error) => {
      if (!signal.aborted) note(`the dashboard could not be built and is unchanged: ${error.message}`);
    });
  };
  followEdits({ folder: join(root, 'services'), signal, onEdit, onError });
  note('watching services/: an edit restarts the services that it concerns');
}

/** Rejects `afterMs` after the signal aborts. */
function aborted(signal: AbortSignal, afterMs = 0): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => setTimeout(() => reject(new Error('stopped')), afterMs);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** Returns a short text that helps the user; only unexpected errors have a stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const expected = error instanceof StartError || error instanceof ConfigError;
  return expected ? error.message : (error.stack ?? error.message);
}
