/// <reference lib="dom" />

/** Whether the page has drawn anything yet. It has not while a stylesheet in its head is still to come. */
export function hasPainted(): boolean {
  return performance.getEntriesByType('paint').length > 0;
}
