/** Does the work for each item, so many at a time, in order of their begin. The work sees to its own failures. */
export async function eachOf<T>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const serve = async () => {
    // All take from the same iterator.
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, serve));
}
