/// <reference lib="dom" />

/** Resolves when the page has drawn what it is now. A page that draws nothing, e.g. a hidden one, is not waited for. */
export async function nextFrame(): Promise<void> {
  await Promise.race([
    new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))),
    new Promise<void>((resolve) => setTimeout(resolve, 250)),
  ]);
}
