/**
 * Calls `look` every so many milliseconds until the returned function is called. It is told by how much it comes late: for so
 * long it was this process that stood still, or had no processor, and what others did meanwhile has not been seen yet.
 */
export function lookRegularly(everyMs: number, look: (now: number, lateMs: number) => void): () => void {
  let last = performance.now();
  const clock = setInterval(() => {
    const now = performance.now();
    const lateMs = Math.max(0, now - last - everyMs);
    last = now;
    look(now, lateMs);
  }, everyMs);
  clock.unref();
  return () => clearInterval(clock);
}
