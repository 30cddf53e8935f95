/** Stands for the origin of any page. */
export const anyOrigin = '*';

/**
 * Parses a list of origins, separated by commas, that browsers may call the API from.
 *
 * @returns the origins as browsers send them, or only {@link anyOrigin}
 * @throws Error that says of each invalid entry what is wrong and what to write
 */
export function parseOrigins(list: string): readonly string[] {
  const entries = list.split(',').flatMap((entry) => entry.trim() || []);
  if (entries.includes(anyOrigin)) {
    if (entries.length === 1) return entries;
    throw new Error('"*" allows every origin: write it alone, or only the other origins');
  }
  const problems = entries.flatMap((entry) => problemOf(entry) ?? []);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return entries;
}

const sample = 'https://app.example.com';

function problemOf(entry: string): string | null {
  const is = (what: string, write: string) => `"${entry}" ${what}: write ${write}`;
  if (entry.includes('*')) return is('has a wildcard', `each origin, such as ${sample}, or * alone for every origin`);
  const url = URL.parse(entry);
  if (!/^https?:\/\//i.test(entry) || url === null) {
    const guess = URL.parse(`https://${entry}`);
    const isHost = !entry.includes('://') && guess !== null && entry !== 'null';
    return is('is not an http or https origin', isHost ? guess.origin : `one such as ${sample}`);
  }
  if (url.origin === entry) return null;
  if (url.username !== '' || url.password !== '') return is('has a user name or a password', url.origin);
  if (url.search !== '' || url.hash !== '' || url.pathname !== '/') return is('has more than an origin', url.origin);
  if (entry.endsWith('/')) return is('has a slash at its end', url.origin);
  return is('is not what browsers send', url.origin);
}
