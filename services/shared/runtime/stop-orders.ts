/** One Ctrl-C may arrive several times: from the terminal, and handed on by each process above. */
const sameKeystrokeMs = 400;

/** For each order to stop: the first one stops, what comes by the same keystroke is none, any other means at once. */
export function stopOrders<Why extends string>(
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
