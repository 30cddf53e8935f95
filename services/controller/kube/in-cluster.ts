import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { KubeAccess } from './access.ts';

export interface InCluster {
  readonly host: string;
  readonly port: string;
  /** Where the kubelet puts the service account's token, namespace and the authority of the API server. */
  readonly accountDir: string;
}

export const defaultAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The access of a pod, by its service account. The kubelet replaces the token well before it expires, so that it is read
 * for each request. (The client library reads it once a minute, and costs 90 MB of memory and a second of start: it is
 * loaded for kubeconfigs alone.)
 */
export async function loadInCluster(cluster: InCluster, namespace: string | undefined): Promise<KubeAccess> {
  const read = async (name: string) => (await readFile(join(cluster.accountDir, name), 'utf8')).trim();
  const host = isIPv6(cluster.host) ? `[${cluster.host}]` : cluster.host;
  return {
    server: new URL(`https://${host}:${cluster.port}`),
    namespace: namespace ?? (await read('namespace')),
    agent: new Agent({ ca: await read('ca.crt'), keepAlive: true }),
    headers: async () => ({ authorization: `Bearer ${await read('token')}` }),
  };
}
