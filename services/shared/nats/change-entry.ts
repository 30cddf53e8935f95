import type { Entries } from './entries.ts';
import { type CallLimits, compareAndSet } from './retry.ts';

/**
 * Changes the value of a key by compare-and-set until it succeeds. `next` maps the current value (null: none) to the new one: the same
 * object keeps it, null deletes it. Returns the resulting value.
 *
 * @param ttlSeconds of a written value; undefined: it does not expire
 */
export function changeEntry<T extends object, Next extends T | null>(
  entries: Entries,
  key: string,
  next: (value: T | null) => Next,
  ttlSeconds: (value: T) => number | undefined = () => undefined,
  limits?: CallLimits,
): Promise<Next> {
  return compareAndSet(async () => {
    const found = await entries.get<T>(key);
    const value = found?.value ?? null;
    const wanted = next(value);
    if (wanted === value) return wanted;
    if (wanted === null) {
      await entries.delete(key, found?.revision);
      return wanted;
    }
    const ttl = ttlSeconds(wanted);
    const options = ttl === undefined ? {} : { ttlSeconds: ttl };
    if (found === null) await entries.create(key, wanted, options);
    else await entries.update(key, wanted, found.revision, options);
    return wanted;
  }, limits);
}
