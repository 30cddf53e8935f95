import type { Accounts } from '@webcapture/shared/state/accounts.ts';
import { hashKey, scopes, type Keys } from '@webcapture/shared/state/keys.ts';

const demoAccount = 'demo';

/**
 * Makes the operator's preset key work: the account `demo` and the key's record, with all scopes. Safe to repeat, and
 * from several fronts at once: what is there, a revocation of the key too, stays as it is.
 */
export async function ensurePresetKey(
  key: string,
  stores: { readonly accounts: Pick<Accounts, 'get' | 'put'>; readonly keys: Pick<Keys, 'get' | 'put'> },
): Promise<void> {
  const createdAt = Date.now();
  if ((await stores.accounts.get(demoAccount)) === null) {
    await stores.accounts.put({ id: demoAccount, name: 'Demo', createdAt });
  }
  const hash = hashKey(key);
  if ((await stores.keys.get(hash)) === null) {
    // Part of the hash tells one preset key from the one before it.
    const id = `preset-${hash.slice(0, 8)}`;
    await stores.keys.put(hash, { id, account: demoAccount, name: 'Preset key', scopes, createdAt });
  }
}
