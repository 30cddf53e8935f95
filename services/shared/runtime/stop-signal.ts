/** Time for which signals count as the same Ctrl-C, which the terminal and each parent process may send. */
const sameKeystrokeMs = 400;

/** Handles stop signals: the first one stops, repetitions of the same Ctrl-C are ignored, and any other signal stops immediately. */
export function onStopSignal<Why extends string>(
  onStop: (why: Why) => void,
  onStopAtOnce: () => void,
  now: () => number = () => performance.now(),
): (why: Why) => void {
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
