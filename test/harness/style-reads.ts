/// <reference lib="dom" />

/**
 * Counts from now on how often the scripts of the call read the style of an element. Tests send this function to a page with `ScriptPage`.
 *
 * @returns a function that returns the count
 */
export function countStyleReads(): () => number {
  let count = 0;
  const read = getComputedStyle;
  globalThis.getComputedStyle = (element) => {
    count += 1;
    return read(element);
  };
  return () => count;
}
