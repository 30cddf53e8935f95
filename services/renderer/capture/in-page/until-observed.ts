/// <reference lib="dom" />

/**
 * Resolves when the page's observers have heard of what is in sight now: one of our own, made after theirs, hears of it
 * with them. A frame does not tell that: on a busy machine the next one may be begun before they have heard of the last.
 * A page that draws nothing is waited for no longer than `patienceMs`.
 */
export async function untilObserved(patienceMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      observer.disconnect();
      clearTimeout(timer);
      resolve();
    };
    const observer = new IntersectionObserver(done);
    const timer = setTimeout(done, patienceMs);
    observer.observe(document.documentElement);
  });
}
