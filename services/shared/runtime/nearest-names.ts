/** Maximum number of suggested names. */
const maxNearest = 3;

/** Maximum number of changed letters that count as a typo. */
export const maxDistance = 2;

/**
 * Returns the known names that an unknown name probably means. Names with the same letters come first, then names that contain it, and then
 * typos.
 */
export function nearestNames(names: readonly string[], unknown: string): string[] {
  const name = plain(unknown);
  const ranked = names
    .map((each) => ({ each, distance: distanceOf(plain(each), name), isPart: isContained(name)(each) }))
    .filter(({ distance, isPart }) => isPart || distance <= maxDistance)
    .toSorted((a, b) => Number(b.isPart) - Number(a.isPart) || a.distance - b.distance);
  return ranked.slice(0, maxNearest).map(({ each }) => each);
}

/** Returns the letters and digits of a name in lower case: `full_page`, `full-page` and `fullPage` become equal. */
export const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Matches `fullPage` with `isFullPage`, and `waitUntilEvent` with `waitUntil`. */
export const isContained = (name: string) => (field: string) =>
  name.length >= 4 && field.length >= 4 && (plain(field).includes(name) || name.includes(plain(field)));

/** Returns the Levenshtein distance: the number of letters to insert, remove or replace. */
export function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
