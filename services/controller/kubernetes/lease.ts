import { CoordinationV1Api, V1MicroTime, type V1Lease } from '@kubernetes/client-node';
import type { LeaseStore, LeaseTimes, StoredLease } from '../leader/lease.ts';
import { isConflict, isNotFound, type KubernetesClient } from './client.ts';

export interface StoredKubernetesLease extends StoredLease {
  readonly lease: V1Lease;
  /** Names the cluster, and the namespace in it, as nothing else does. */
  readonly uid: string;
}

/** The leadership in one cluster, in a Lease of its API. The times in the object are for people who look. */
export class KubernetesLeaseStore implements LeaseStore<StoredKubernetesLease> {
  readonly #client: KubernetesClient;
  readonly #name: string;
  readonly #times: Pick<LeaseTimes, 'ttlMs' | 'requestMs'>;

  constructor(client: KubernetesClient, name: string, times: Pick<LeaseTimes, 'ttlMs' | 'requestMs'>) {
    this.#client = client;
    this.#name = name;
    this.#times = times;
  }

  async read(): Promise<StoredKubernetesLease | null> {
    try {
      const lease = await this.#client.call('reading the Lease', this.#times.requestMs, (api, namespace) =>
        api(CoordinationV1Api).readNamespacedLease({ name: this.#name, namespace }),
      );
      return stored(lease);
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async write(before: StoredKubernetesLease | null, holder: string): Promise<StoredKubernetesLease> {
    const name = this.#name;
    const was = before?.lease.spec;
    const now = new V1MicroTime();
    const isNew = was?.holderIdentity !== holder && holder !== '';
    const body: V1Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: before?.lease.metadata ?? { name },
      spec: {
        ...was,
        holderIdentity: holder,
        leaseDurationSeconds: Math.ceil(this.#times.ttlMs / 1000),
        renewTime: now,
        ...(isNew
          ? { acquireTime: now, leaseTransitions: before === null ? 0 : (was?.leaseTransitions ?? 0) + 1 }
          : {}),
      },
    };
    const lease = await this.#client.call('writing the Lease', this.#times.requestMs, (api, namespace) =>
      before === null
        ? api(CoordinationV1Api).createNamespacedLease({ namespace, body })
        : api(CoordinationV1Api).replaceNamespacedLease({ name, namespace, body }),
    );
    return stored(lease);
  }

  async release(held: StoredKubernetesLease): Promise<void> {
    await this.write(held, '');
  }

  isConflict(error: unknown): boolean {
    return isConflict(error) || isNotFound(error);
  }
}

function stored(lease: V1Lease): StoredKubernetesLease {
  const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {};
  const { resourceVersion = '', uid = '' } = lease.metadata ?? {};
  return { lease, uid, holder: holderIdentity, version: resourceVersion, ttlMs: leaseDurationSeconds * 1000 };
}
