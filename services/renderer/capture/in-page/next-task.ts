/// <reference lib="dom" />

/** Resolves when the page has done what it had put off to its next turn, as many do with what follows loading. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
