import { onStopSignal } from '@webcapture/shared/runtime/shutdown.ts';

/**
 * Calls `onStop` at the first stop signal of this process (Ctrl-C, SIGTERM, a closed terminal, or the end of the
 * process that started it), and `onStopAtOnce` at the second one.
 */
export function onStopSignals(onStop: (why: string) => void, onStopAtOnce: () => void): void {
  const told = onStopSignal(onStop, onStopAtOnce);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => told(signal));
  // The reader of the output has exited.
  process.stdout.once('error', () => told('its output is closed'));
  process.stdout.on('error', () => undefined);
  if (process.channel) process.once('disconnect', () => told('the process that started it is gone'));
  // The channel alone must not keep this process alive.
  process.channel?.unref();
}
