/** One Ctrl-C may arrive several times: from the terminal, and handed on by each process above. */
const sameKeystrokeMs = 400;

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

/** For each order to stop: the first one stops, what comes by the same keystroke is none, any other means at once. */
export function stopOrders(
  onStop: (why: string) => void,
  onStopAtOnce: () => void,
  now: () => number = () => performance.now(),
): (why: string) => void {
  let first: number | undefined;
  return (why) => {
    if (first === undefined) {
      first = now();
      onStop(why);
    } else if (now() - first > sameKeystrokeMs) {
      onStopAtOnce();
    }
  };
}
