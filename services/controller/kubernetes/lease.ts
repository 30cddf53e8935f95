import { CoordinationV1Api, V1MicroTime, type V1Lease } from '@kubernetes/client-node';
import type { LeaseStore, LeaseTimes, StoredLease } from '../leader/lease.ts';
import { isConflict, isNotFound, type KubernetesClient } from './client.ts';
import { labels } from './objects.ts';
import type { KubernetesSettings } from './settings.ts';

interface StoredKubernetesLease extends StoredLease {
  readonly lease: V1Lease;
  /** Uniquely identifies the cluster and the namespace. */
  readonly uid: string;
}

/**
 * The leadership in one cluster, stored in a Lease of its API. The Lease has the labels of the release, so that operators find it after an
 * uninstallation. Nothing depends on its times. `onUid` is called with the uid of the Lease at each read and write.
 */
export function kubernetesLeaseStore(
  client: KubernetesClient,
  { lease: name, release }: Pick<KubernetesSettings, 'lease' | 'release'>,
  { ttlMs, requestMs }: Pick<LeaseTimes, 'ttlMs' | 'requestMs'>,
  onUid: (uid: string) => void = () => undefined,
): LeaseStore<StoredKubernetesLease> {
  const stored = (lease: V1Lease): StoredKubernetesLease => {
    const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {};
    const { resourceVersion = '', uid = '' } = lease.metadata ?? {};
    onUid(uid);
    return { lease, uid, holder: holderIdentity, version: resourceVersion, ttlMs: leaseDurationSeconds * 1000 };
  };
  const write = async (before: StoredKubernetesLease | null, holder: string): Promise<StoredKubernetesLease> => {
    const was = before?.lease.spec;
    const now = new V1MicroTime();
    const isNew = was?.holderIdentity !== holder && holder !== '';
    const body: V1Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: before?.lease.metadata ?? {
        name,
        labels: { [labels.instance]: release, [labels.component]: 'controller' },
      },
      spec: {
        ...was,
        holderIdentity: holder,
        leaseDurationSeconds: Math.ceil(ttlMs / 1000),
        renewTime: now,
        ...(isNew
          ? { acquireTime: now, leaseTransitions: before === null ? 0 : (was?.leaseTransitions ?? 0) + 1 }
          : {}),
      },
    };
    const lease = await client.call('writing the Lease', requestMs, (api, namespace) =>
      before === null
        ? api(CoordinationV1Api).createNamespacedLease({ namespace, body })
        : api(CoordinationV1Api).replaceNamespacedLease({ name, namespace, body }),
    );
    return stored(lease);
  };
  return {
    read: async () => {
      try {
        const lease = await client.call('reading the Lease', requestMs, (api, namespace) =>
          api(CoordinationV1Api).readNamespacedLease({ name, namespace }),
        );
        return stored(lease);
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
    write,
    release: async (held) => void (await write(held, '')),
    isConflict: (error) => isConflict(error) || isNotFound(error),
  };
}
