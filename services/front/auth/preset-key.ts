import { backoffMs, delay } from '@webcapture/shared/runtime/deadline.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import { hashKey, type Keys } from './keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { NatsLink } from '../nats.ts';

const demoAccount = 'demo';

/** Whoever sets a preset key tries the service out, or has it to himself: nothing of that is to run into a limit. */
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
  readonly accounts: Pick<Accounts, 'get' | 'create' | 'change'>;
  readonly keys: Pick<Keys, 'get' | 'find' | 'put'>;
  /** The server's clock, Unix ms: captures are listed back to the creation of their account. */
  readonly now: () => number;
}

/**
 * Makes the operator's preset key work: the account `demo` and the key's record, with all scopes. Safe to repeat, and
 * from several fronts at once: what is there, a revocation of the key too, stays as it is.
 */
export async function ensurePresetKey(key: string, { accounts, keys, now }: Stores): Promise<void> {
  const createdAt = now();
  const found = await accounts.get(demoAccount);
  if (found === null) {
    await accounts.create({ id: demoAccount, name: 'Demo', createdAt, ...demoLimits }).catch((error: unknown) => {
      if (!isWriteConflict(error)) throw error;
    });
  }
  const hash = hashKey(key);
  // Part of the hash tells one preset key from the one before it.
  const id = `preset-${hash.slice(0, 8)}`;
  if ((await keys.get(hash)) !== null) return;
  await keys.put(hash, { id, account: demoAccount, name: 'Preset key', scopes, createdAt });
}

/** How often it is looked for without a reason. */
const recheckIntervalMs = 30_000;

/**
 * Ensures the preset key now and then, and after each reconnection, for NATS may have come back with an empty disk; until
 * the signal aborts. Never throws.
 */
export async function keepPresetKey(
  key: string,
  stores: Stores,
  deps: { readonly link: Pick<NatsLink, 'onReconnect'>; readonly log: Logger; readonly signal: AbortSignal },
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
      // The streams of an empty disk are not there until the controller has made them.
      failures++;
      log.debug({ err: error }, 'the preset key could not be ensured; trying again');
    }
  }
  unsubscribe();
}
