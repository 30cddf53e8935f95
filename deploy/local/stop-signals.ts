import { stopOrders } from '@webcapture/shared/runtime/stop-orders.ts';

/**
 * Calls `onStop` when this process is told to end (Ctrl-C, SIGTERM, a closed terminal, or the end of the process that
 * started it), and `onStopAtOnce` when it is told so again.
 */
export function onStopSignals(onStop: (why: string) => void, onStopAtOnce: () => void): void {
  const told = stopOrders(onStop, onStopAtOnce);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => told(signal));
  // Nobody reads what is printed any more.
  process.stdout.once('error', () => told('its output is closed'));
  process.stdout.on('error', () => undefined);
  if (process.channel) process.once('disconnect', () => told('the process that started it is gone'));
  // The channel alone shall not keep this process running.
  process.channel?.unref();
}
