#!/usr/bin/env node
import process from 'node:process';
import { onStopSignal } from '@webcapture/shared/runtime/shutdown.ts';
import { CommanderError } from 'commander';
import type { Context } from './context.ts';
import { CliError, errorLine, exitCodes, toCliError } from './errors.ts';
import { createProgram, suggestFlags } from './program.ts';
import { plainText } from './text.ts';

const stop = new AbortController();
const reasons = {
  SIGINT: new CliError('interrupted', 'Interrupted.'),
  SIGTERM: new CliError('terminated', 'Terminated.'),
} as const;
const onSignal = onStopSignal<keyof typeof reasons>(
  (signal) => stop.abort(reasons[signal]),
  () => process.exit(exitCodes.interrupted),
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => onSignal(signal));
// If the reader closed the pipe, as `head` does, this is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.success);
  fail(error);
});

const context: Context = {
  terminal: process,
  env: process.env,
  signal: stop.signal,
  setExit: (kind) => {
    process.exitCode = exitCodes[kind];
  },
};

const program = createProgram(context);
try {
  await program.parseAsync(process.argv);
} catch (thrown) {
  fail(thrown);
}

function fail(thrown: unknown): void {
  if (!(thrown instanceof CommanderError)) {
    const error = toCliError(thrown);
    process.stderr.write(errorLine(error));
    process.exitCode = exitCodes[error.kind];
    return;
  }
  // The user requested the help or the version.
  if (thrown.exitCode === 0) return;
  process.exitCode = exitCodes.usage;
  // commander has printed the help, because the command is missing.
  if (thrown.code === 'commander.help') return;
  const message = `${thrown.message.replace(/^error: /, '').replaceAll('\n', ' ')}${suggestFlags(thrown.message, program)}`;
  process.stderr.write(`webcapture: ${plainText(message)}\nRun the command with --help to see its usage.\n`);
}
