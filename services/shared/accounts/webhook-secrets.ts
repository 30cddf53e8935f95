import { randomBytes } from 'node:crypto';
import { changeEntry } from '../nats/change-entry.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';

/** A secret that has been replaced. It signs beside the new one until `until` (Unix milliseconds). */
interface FormerSecret {
  readonly secret: string;
  readonly until: number;
}

/** What the notices to an account are signed with: `whsec_` and the base64 of 32 random bytes. */
export interface WebhookSecret {
  readonly secret: string;
  /** Newest first. Some may be over by now: see {@link signingSecrets}. */
  readonly former: readonly FormerSecret[];
}

/** Each one makes the header of signatures longer; the oldest go first. */
const maxFormer = 4;

/** The webhook secrets of accounts, under `webhook.<account>` in the bucket `db`. */
export class WebhookSecrets {
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  /** The account's secret, made when it is asked for the first time; whoever asks at the same time gets the same. */
  async get(account: string): Promise<WebhookSecret> {
    return this.#change(account, (found) => found ?? { secret: newSecret(), former: [] });
  }

  /**
   * Puts a new secret in the place of the present one, which still signs for `graceMs`; so do those before it, but none
   * for longer than it would have. Asked twice by mistake, the secret that receivers know is not lost.
   */
  async rotate(account: string, graceMs: number, now: number): Promise<WebhookSecret> {
    const secret = newSecret();
    const until = now + graceMs;
    return this.#change(account, (found) => {
      if (found === null) return { secret, former: [] };
      const former = [{ secret: found.secret, until }, ...found.former.map((old) => endingBy(old, until))];
      return { secret, former: former.filter((old) => old.until > now).slice(0, maxFormer) };
    });
  }

  #change(account: string, next: (found: WebhookSecret | null) => WebhookSecret): Promise<WebhookSecret> {
    return changeEntry(this.#db, `webhook.${account}`, next);
  }
}

/** All secrets that a notice is signed with at a time (Unix milliseconds), the newest first. */
export function signingSecrets({ secret, former }: WebhookSecret, now: number): readonly string[] {
  return [secret, ...former.filter(({ until }) => until > now).map((old) => old.secret)];
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

const endingBy = (old: FormerSecret, until: number): FormerSecret => ({ ...old, until: Math.min(old.until, until) });
