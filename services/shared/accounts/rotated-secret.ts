/** A replaced secret, valid alongside the new one until `until` (Unix milliseconds). */
interface FormerSecret {
  readonly secret: string;
  readonly until: number;
}

/** A secret and its predecessors, which stay valid for a while, so that users of the secret have time to switch. */
export interface RotatedSecret {
  readonly secret: string;
  /** The newest secret comes first. Some may have expired: see {@link signingSecrets}. */
  readonly former: readonly FormerSecret[];
}

/** Maximum number of former secrets that stay valid. Older ones are dropped. */
const maxFormer = 4;

/**
 * Replaces a secret. The previous secret stays valid for `graceMs`. Each earlier secret ends at the same time, or at its own end if that is
 * sooner. A secret in use therefore stays valid if the rotation is requested twice by mistake.
 *
 * @param found null if there was no secret
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

/** Returns all secrets that are valid at `now` (Unix milliseconds), newest first. */
export function signingSecrets({ secret, former }: RotatedSecret, now: number): readonly string[] {
  return [secret, ...former.filter(({ until }) => until > now).map((old) => old.secret)];
}

const endingBy = (old: FormerSecret, until: number): FormerSecret => ({ ...old, until: Math.min(old.until, until) });
