import { randomBytes } from 'node:crypto';
import { changeEntry } from '../nats/change-entry.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { type RotatedSecret, rotateSecret } from './rotated-secret.ts';

/**
 * What the notices to accounts are signed with (`whsec_` and the base64 of 32 random bytes), under `webhook.<account>` in
 * the bucket `db`. Those that were replaced sign beside the new one, which makes the header of signatures longer.
 */
export class WebhookSecrets {
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  /** The account's secret, made when it is asked for the first time; whoever asks at the same time gets the same. */
  async get(account: string): Promise<RotatedSecret> {
    return this.#change(account, (found) => found ?? { secret: newSecret(), former: [] });
  }

  /** Makes a new secret; the present one still signs for `graceMs` (see {@link rotateSecret}). */
  async rotate(account: string, graceMs: number, now: number): Promise<RotatedSecret> {
    const secret = newSecret();
    return this.#change(account, (found) => rotateSecret(found, secret, { graceMs, now }));
  }

  #change(account: string, next: (found: RotatedSecret | null) => RotatedSecret): Promise<RotatedSecret> {
    return changeEntry(this.#db, `webhook.${account}`, next);
  }
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
