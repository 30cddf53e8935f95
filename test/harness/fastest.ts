/** Enough for one of them to have the processor when it needs it. */
const mostTurns = 5;

/**
 * The least time of several turns, as `turn` tells it; the first one below `limitMs` is the last. What a busy machine makes
 * slow now and then is fast in one of them, what is slow by itself in none.
 */
export async function fastest(limitMs: number, turn: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let turns = 0; turns < mostTurns && least >= limitMs; turns++) least = Math.min(least, await turn());
  return least;
}

/** So many milliseconds pass until `work` is done. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
