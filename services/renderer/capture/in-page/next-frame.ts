/// <reference lib="dom" />

/**
 * Resolves when the page has been drawn so often: once for what it is now, twice for what it makes of that (observers
 * of what is in sight hear of it when it is drawn). A page that draws nothing is not waited for long.
 */
export async function nextFrame(times: 1 | 2): Promise<void> {
  for (let drawn = 0; drawn < times; drawn += 1) {
    await Promise.race([
      new Promise<void>((resolve) => requestAnimationFrame(() => resolve())),
      new Promise<void>((resolve) => setTimeout(resolve, 150)),
    ]);
  }
}
