/** A replaced secret, valid alongside the new one until `until` (Unix milliseconds). */
interface FormerSecret {
  readonly secret: string;
  readonly until: number;
}

/** A secret, and those that it has replaced: who knows one of them has time to hear of the new one. */
export interface RotatedSecret {
  readonly secret: string;
  /** Newest first. Some may be over by now: see {@link signingSecrets}. */
  readonly former: readonly FormerSecret[];
}

/** Maximum number of former secrets that are accepted or sign alongside the newest; older ones are dropped. */
const maxFormer = 4;

/**
 * Puts a new secret in the place of the one that was found, which still counts for `graceMs`; so do those before it, but
 * none for longer than it would have. Asked twice by mistake, a secret that others know is not lost.
 *
 * @param found null: there was none
 * @param now Unix milliseconds
 */
export function rotateSecret(
  found: RotatedSecret | null,
  secret: string,
  { graceMs, now }: { readonly graceMs: number; readonly now: number },
): RotatedSecret {
  if (found === null) return { secret, former: [] };
  const until = now + graceMs;
  const former = [{ secret: found.secret, until }, ...found.former.map((old) => endingBy(old, until))];
  return { secret, former: former.filter((old) => old.until > now).slice(0, maxFormer) };
}

/** Returns all valid secrets at a time (Unix milliseconds), newest first. */
export function signingSecrets({ secret, former }: RotatedSecret, now: number): readonly string[] {
  return [secret, ...former.filter(({ until }) => until > now).map((old) => old.secret)];
}

const endingBy = (old: FormerSecret, until: number): FormerSecret => ({ ...old, until: Math.min(old.until, until) });
