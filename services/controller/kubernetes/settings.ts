import { delimiter } from 'node:path';
import type { EnvReader } from '@webcapture/shared/config/env.ts';

export interface InCluster {
  readonly host: string;
  readonly port: string;
  /** Where the kubelet puts the service account's token, namespace and the authority of the API server. */
  readonly accountDir: string;
}

const defaultAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface KubernetesSettings {
  readonly access: InCluster | { readonly kubeconfig: readonly string[] };
  /** Undefined: that of the service account, or of the kubeconfig. */
  readonly namespace: string | undefined;
  /** The value of `app.kubernetes.io/instance` on all that belongs to us. */
  readonly release: string;
  /** Name of the Lease by which the controllers of this cluster elect the one that acts. */
  readonly lease: string;
}

const dnsName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Null where there is no Kubernetes to look at. Variables:
 * - `WEBCAPTURE_KUBERNETES`: `auto` (the default: on inside a pod of a release; `npm start` inside some other pod has nothing
 *   to look at), `on` (inside a pod, or by KUBECONFIG), `off`.
 * - `WEBCAPTURE_RELEASE`: the release's name, required when on; `WEBCAPTURE_NAMESPACE`; `WEBCAPTURE_LEASE`.
 * - `KUBERNETES_SERVICE_HOST`, `KUBERNETES_SERVICE_PORT`: set by the kubelet.
 */
export function readKubernetesSettings(env: EnvReader): KubernetesSettings | null {
  const mode = env.oneOf('WEBCAPTURE_KUBERNETES', ['auto', 'on', 'off'], 'auto');
  const host = env.string('KUBERNETES_SERVICE_HOST');
  const isOurPod = host !== undefined && env.string('WEBCAPTURE_RELEASE') !== undefined;
  if (mode === 'off' || (mode === 'auto' && !isOurPod)) return null;
  const kubeconfig = env
    .string('KUBECONFIG', '')
    .split(delimiter)
    .filter((file) => file !== '');
  if (host === undefined && kubeconfig.length === 0) {
    env.problem(
      'WEBCAPTURE_KUBERNETES',
      'is on, but this is no pod (KUBERNETES_SERVICE_HOST) and KUBECONFIG is not set',
    );
  }
  const release = env.required('WEBCAPTURE_RELEASE', 'the value of the label app.kubernetes.io/instance on our pods');
  const namespace = env.string('WEBCAPTURE_NAMESPACE');
  const lease = env.string('WEBCAPTURE_LEASE', 'webcapture-controller');
  for (const [name, value] of Object.entries({ WEBCAPTURE_NAMESPACE: namespace, WEBCAPTURE_LEASE: lease })) {
    if (value !== undefined && !dnsName.test(value))
      env.problem(name, `must be a name as Kubernetes has them, not "${value}"`);
  }
  const port = env.string('KUBERNETES_SERVICE_PORT', '443');
  return Object.freeze({
    access: host === undefined ? { kubeconfig } : { host, port, accountDir: defaultAccountDir },
    namespace,
    release,
    lease,
  });
}
