import { delimiter } from 'node:path';
import type { EnvReader } from '@webcapture/shared/runtime/env.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { choiceVariable, optionalVariable, textVariable } from '@webcapture/shared/runtime/variables.ts';

export interface InCluster {
  readonly host: string;
  readonly port: string;
  /** Folder in which the kubelet puts the service account's token, namespace and CA certificate of the API server. */
  readonly accountDir: string;
}

const defaultAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface KubernetesSettings {
  readonly access: InCluster | { readonly kubeconfig: readonly string[] };
  /** The namespace to use; undefined for the namespace of the service account or the kubeconfig. */
  readonly namespace: string | undefined;
  /** The value of `app.kubernetes.io/instance` on all objects of the release. */
  readonly release: string;
  /** Name of the Lease by which the controllers of this cluster elect a leader. */
  readonly lease: string;
  /** The operator's name of this cluster; see {@link clusterNameOf} for the default. */
  readonly clusterName: string | undefined;
  /** Whether to annotate renderer pods with their deletion cost. */
  readonly deletionCosts: boolean;
}

const dnsName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const clusterNameForm = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

export const kubernetesVariables = {
  mode: choiceVariable('WEBCAPTURE_KUBERNETES', ['auto', 'on', 'off'], {
    default: 'auto',
    meaning:
      'Whether the controller watches the pods of its cluster. `auto`: inside a pod of a release. `on`: inside a pod, or by the file that `KUBECONFIG` names. `off`: heartbeats alone decide.',
  }),
  release: optionalVariable('WEBCAPTURE_RELEASE', {
    meaning:
      'Name of the Helm release: the value of the label `app.kubernetes.io/instance` on its pods. Required when `WEBCAPTURE_KUBERNETES` is `on`.',
  }),
  namespace: optionalVariable('WEBCAPTURE_NAMESPACE', {
    defaultText: "the controller's own",
    meaning: 'Namespace of the release.',
  }),
  lease: textVariable('WEBCAPTURE_LEASE', {
    default: 'webcapture-controller',
    meaning: 'Name of the Lease by which the controllers of a cluster elect the one that acts on it.',
  }),
  clusterName: optionalVariable('WEBCAPTURE_CLUSTER_NAME', {
    defaultText: '`<namespace>/<release>/<first region>`',
    meaning:
      'Name of this cluster in messages and in `GET /admin/overview`: up to 63 letters, digits, dots, slashes, hyphens and underscores. The name must be unique in the fleet. A cluster that is recreated should keep its name, so that its reports replace the old ones.',
  }),
  deletionCosts: choiceVariable('WEBCAPTURE_DELETION_COSTS', ['on', 'off'], {
    default: 'on',
    meaning:
      'Whether the controller annotates the pods of renderers with a deletion cost, so that scaling down removes idle ones first. It needs the right to patch pods.',
  }),
};

/**
 * Returns null without Kubernetes. Besides {@link kubernetesVariables} it reads `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`,
 * which the kubelet sets, and `KUBECONFIG`. `auto` also requires a release, because `npm start` in an unrelated pod has nothing to watch.
 */
export function readKubernetesSettings(env: EnvReader): KubernetesSettings | null {
  const mode = kubernetesVariables.mode.read(env);
  const host = env.string('KUBERNETES_SERVICE_HOST');
  const isOurPod = host !== undefined && kubernetesVariables.release.read(env) !== undefined;
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
  const namespace = kubernetesVariables.namespace.read(env);
  const lease = kubernetesVariables.lease.read(env);
  for (const [name, value] of Object.entries({ WEBCAPTURE_NAMESPACE: namespace, WEBCAPTURE_LEASE: lease })) {
    if (value !== undefined && !dnsName.test(value))
      env.problem(name, `must be a valid Kubernetes name, not "${value}"`);
  }
  const clusterName = kubernetesVariables.clusterName.read(env);
  if (clusterName !== undefined && !clusterNameForm.test(clusterName)) {
    env.problem(
      'WEBCAPTURE_CLUSTER_NAME',
      `must have at most 63 letters, digits, dots, slashes, hyphens and underscores, with a letter or digit at both ends, not "${clusterName}"`,
    );
  }
  const port = env.string('KUBERNETES_SERVICE_PORT', '443');
  return Object.freeze({
    access: host === undefined ? { kubeconfig } : { host, port, accountDir: defaultAccountDir },
    namespace,
    release,
    lease,
    clusterName,
    deletionCosts: kubernetesVariables.deletionCosts.read(env) === 'on',
  });
}

/**
 * Returns the name of this cluster. The default stays the same when the cluster is recreated with the same values, unlike any
 * identifier of the API server.
 *
 * @param at.namespace of the release
 * @param at.home the first region of the release
 */
export const clusterNameOf = (
  { clusterName, release }: Pick<KubernetesSettings, 'clusterName' | 'release'>,
  { namespace, home }: { readonly namespace: string; readonly home: Region },
): string => clusterName ?? `${namespace}/${release}/${home}`;
