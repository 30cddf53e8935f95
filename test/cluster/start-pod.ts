import type { Cluster } from './cluster.ts';

export interface PodOptions {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The fields of the only container, except for its name and the requirements of Pod Security `restricted`. */
  readonly container: { readonly image: string; readonly [field: string]: unknown };
  readonly volumes?: readonly object[];
}

/** Starts a pod outside the release that meets Pod Security `restricted`, and waits until it is ready. */
export async function startPod(cluster: Cluster, { name, labels, container, volumes }: PodOptions): Promise<void> {
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name,
          ...container,
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
      ...(volumes === undefined ? {} : { volumes }),
    },
  });
  await cluster.kubectl(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=90s'], { timeoutMs: 100_000 });
}
