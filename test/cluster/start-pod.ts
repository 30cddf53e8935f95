import type { Cluster } from './cluster.ts';

export interface PodOptions {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** All of the only container but its name and what Pod Security `restricted` wants of it. */
  readonly container: { readonly image: string; readonly [field: string]: unknown };
  readonly volumes?: readonly object[];
}

/** Starts a pod of the test's own beside the release, fit for Pod Security `restricted`, and waits until it is ready. */
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
