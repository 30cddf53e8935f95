import { randomBytes } from 'node:crypto';
import { changeEntry, Entries } from '../nats/entries.ts';
import type { NatsSession } from '../nats/connect.ts';
import { type RotatedSecret, rotateSecret } from './rotated-secret.ts';

/**
 * The signing secrets of accounts' webhooks (`whsec_` and the base64 of 32 random bytes), under `webhook.<account>` in
 * the bucket `db`. Replaced secrets sign alongside the new one, which makes the signature header longer.
 */
export class WebhookSecrets {
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  /** Returns the account's secret, and creates it at the first call. If several first calls are concurrent, all return the same secret. */
  async get(account: string): Promise<RotatedSecret> {
    return this.#change(account, (found) => found ?? { secret: newSecret(), former: [] });
  }

  /** Creates a new secret. The current one also signs for `graceMs` (see {@link rotateSecret}). */
  async rotate(account: string, graceMs: number, now: number): Promise<RotatedSecret> {
    const secret = newSecret();
    return this.#change(account, (found) => rotateSecret(found, secret, { graceMs, now }));
  }

  #change(account: string, next: (found: RotatedSecret | null) => RotatedSecret): Promise<RotatedSecret> {
    return changeEntry(this.#db, `webhook.${account}`, next);
  }
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
