import { backoffMs, delay } from '@webcapture/shared/runtime/deadline.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import { hashKey, type Keys } from './keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ConnectionMonitor } from '../nats.ts';

const demoAccount = 'demo';

/**
 * Limits of the preset account: it is used for trials and single-user installations, which should not run into limits.
 */
export const demoLimits: AccountLimits = {
  tokenQuota: 1_000_000,
  ratePerMinute: 6000,
  burst: 6000,
  maxInFlight: 100,
  maxQueued: 10_000,
  maxQueuedBytes: 2 ** 30,
  maxStoredBytes: 100 * 2 ** 30,
  maxPersistedBytes: 100 * 2 ** 30,
};

interface Stores {
  readonly accounts: Pick<Accounts, 'get' | 'create'>;
  readonly keys: Pick<Keys, 'get' | 'put'>;
  /** The server's clock, Unix milliseconds. Lists of captures reach back to the creation of the account. */
  readonly now: () => number;
}

/**
 * Creates the account `demo` and the record of the operator's preset key, with all scopes. Several fronts may do so
 * concurrently. Existing records stay unchanged, including a revocation of the key.
 */
export async function ensurePresetKey(key: string, { accounts, keys, now }: Stores): Promise<void> {
  const createdAt = now();
  if ((await accounts.get(demoAccount)) === null) {
    await accounts.create({ id: demoAccount, name: 'Demo', createdAt, ...demoLimits }).catch((error: unknown) => {
      if (!isWriteConflict(error)) throw error;
    });
  }
  const hash = hashKey(key);
  // The id contains a part of the hash, because the operator may configure another preset key later.
  const id = `preset-${hash.slice(0, 8)}`;
  if ((await keys.get(hash)) !== null) return;
  await keys.put(hash, { id, account: demoAccount, name: 'Preset key', scopes, createdAt });
}

/** Interval of checks between reconnections. */
const recheckIntervalMs = 30_000;

/**
 * Ensures that the preset key exists, periodically and after each reconnection, until the signal aborts. The key can disappear when NATS
 * restarts with an empty disk. Never throws.
 */
export async function keepPresetKey(
  key: string,
  stores: Stores,
  deps: { readonly link: Pick<ConnectionMonitor, 'onReconnect'>; readonly log: Logger; readonly signal: AbortSignal },
): Promise<void> {
  const { link, log, signal } = deps;
  let reconnected = new AbortController();
  const unsubscribe = link.onReconnect(() => reconnected.abort());
  for (let failures = 0; !signal.aborted;) {
    await delay(
      failures === 0 ? recheckIntervalMs : backoffMs(failures, 100, 5000),
      AbortSignal.any([signal, reconnected.signal]),
    );
    if (signal.aborted) break;
    reconnected = new AbortController();
    try {
      await ensurePresetKey(key, stores);
      failures = 0;
    } catch (error) {
      // On an empty disk, the streams are missing until the controller has created them.
      failures++;
      log.debug({ err: error }, 'the preset key could not be ensured; trying again');
    }
  }
  unsubscribe();
}
