/// <reference lib="dom" />

/** Resolves when the document has been parsed, or has loaded with all that belongs to it. */
export async function untilReady(state: 'domcontentloaded' | 'load'): Promise<void> {
  const reached = () =>
    document.readyState === 'complete' || (state !== 'load' && document.readyState === 'interactive');
  while (!reached()) {
    await new Promise((resolve) => document.addEventListener('readystatechange', resolve, { once: true }));
  }
}
