import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { clusterKey, clusterWordIntervalMs } from './cluster-word.ts';
import type { KubeConnection } from './connection.ts';
import type { Inventory } from './inventory.ts';
import type { KubeLease } from './kube-lease.ts';

const ttlSeconds = 10;

/**
 * Reads the inventory, and says what it shows if this process holds the Lease. (The others read it as well, so that they
 * know what was wanted in the last minutes when they take over.)
 */
export async function sayWord(parts: {
  readonly connection: KubeConnection;
  readonly inventory: Inventory;
  readonly lease: Pick<KubeLease, 'holds' | 'uid'>;
  readonly live: Entries;
}): Promise<void> {
  const { connection, inventory, lease, live } = parts;
  const word = inventory.word(await connection.namespace());
  if (word === null || !lease.holds() || lease.uid === null) return;
  await withDeadline(live.put(clusterKey(lease.uid), word, { ttlSeconds }), clusterWordIntervalMs, 'saying the pods');
}
