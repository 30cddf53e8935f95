// @module-tag long
import { beforeAll, describe, expect, test } from 'vitest';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { readRendererConfig } from '../../../services/renderer/config.ts';
import { chartFolder, envOf, find, helm, helmDeadlineMs, podOf, render, type KubeObject } from '../../harness/helm.ts';

const name = (component: string) => `wc-webcapture-${component}`;
const imagesOf = (objects: readonly KubeObject[]) =>
  objects.flatMap((object) => podOf(object)?.containers ?? []).map(({ image }) => image);

/** Values of a platform team that do not affect the other tests. */
const custom = {
  global: { imageRegistry: 'mirror.example:5000/proxy', imagePullSecrets: [{ name: 'shared' }] },
  imagePullSecrets: [{ name: 'own' }],
  podLabels: { team: 'capture' },
  podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
  containerSecurityContext: { privileged: false, runAsNonRoot: true },
  serviceAccounts: {
    front: { create: false, name: 'theirs' },
    renderer: { name: 'least' },
    controller: { create: true },
  },
  extraObjects: ['apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-own }'],
  egress: { deny: ['203.0.113.0/24', '2001:db8::/32'] },
  networkPolicy: { front: { from: [{ podSelector: {} }] } },
  ...Object.fromEntries(
    ['front', 'controller', 'nats'].map((component) => [
      component,
      {
        extraVolumes: [{ name: 'extra', emptyDir: {} }],
        extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
        sidecars: [{ name: 'sidecar', image: 'sidecar.example/sidecar:1' }],
      },
    ]),
  ),
  renderer: {
    resources: { limits: { memory: '4Gi' } },
    sandbox: { mode: 'localhost', installer: { enabled: true } },
    nodeSelector: { pool: 'render', arch: 'amd64' },
  },
  regions: [
    { name: 'us-east' },
    { name: 'us-west' },
    { name: 'eu-west', nodeSelector: { pool: 'europe' }, tolerations: [{ key: 'europe', operator: 'Exists' }] },
  ],
  ingress: { enabled: true, className: 'nginx', hosts: ['a.example'], annotations: { mine: 'yes' } },
  keda: { enabled: true },
};

let defaults: readonly KubeObject[];
let objects: readonly KubeObject[];
beforeAll(async () => {
  [defaults, objects] = await Promise.all([render(), render(custom)]);
}, helmDeadlineMs);

describe('images', () => {
  test(
    'come from the registry of the operator; without one, the error has the commands to build and push them',
    async () => {
      expect(new Set(imagesOf(defaults))).toEqual(
        new Set([
          `registry.test/webcapture/front:${version}`,
          `registry.test/webcapture/renderer:${version}`,
          'docker.io/library/nats:2.15.0-alpine',
        ]),
      );
      for (const image of imagesOf(objects)) expect(image).toMatch(/^(mirror\.example:5000\/proxy|sidecar\.example)\//);
      const refusal = helm(['template', 'wc', chartFolder, '--kube-version', '1.33.0']);
      await expect(refusal).rejects.toThrow(/docker build -f deploy\/docker\/Dockerfile .*\n *docker push REGISTRY/);
    },
    helmDeadlineMs,
  );

  test(
    'with a host in their repository, as in earlier releases, stay unchanged; a digest overrides the tag',
    async () => {
      const digest = `sha256:${'a'.repeat(64)}`;
      const image = { repository: 'ghcr.io/mine/front', tag: '1' };
      const own = await render({ image, renderer: { image: { repository: 'localhost/renderer', digest } } });
      expect(imagesOf(own)).toContain('ghcr.io/mine/front:1');
      expect(imagesOf(own)).toContain(`localhost/renderer@${digest}`);
    },
    helmDeadlineMs,
  );
});

test('pods contain the sidecars, volumes and other additions from the values', () => {
  for (const [kind, component] of [
    ['Deployment', 'front'],
    ['Deployment', 'controller'],
    ['StatefulSet', 'nats'],
  ] as const) {
    const pod = podOf(find(objects, kind, name(component)));
    expect(pod).toMatchObject({ imagePullSecrets: [{ name: 'own' }, { name: 'shared' }] });
    expect(pod?.containers.map((container) => container.name)).toEqual([component, 'sidecar']);
    expect(pod?.volumes).toContainEqual({ name: 'extra', emptyDir: {} });
    expect(pod?.containers[0]).toMatchObject({
      volumeMounts: expect.arrayContaining([{ name: 'extra', mountPath: '/extra' }]) as unknown,
      securityContext: { privileged: false, allowPrivilegeEscalation: false },
    });
    // The user range of an OpenShift namespace applies.
    expect(Object.keys(pod?.securityContext ?? {}).toSorted()).toEqual(['runAsNonRoot', 'seccompProfile']);
  }
  for (const object of objects.filter((it) => podOf(it) && it.kind !== 'Pod')) {
    expect(object['spec']).toMatchObject({ template: { metadata: { labels: { team: 'capture' } } } });
  }
  expect(find(objects, 'ConfigMap', 'wc-own')).toBeDefined();
});

test('service accounts are created or named by the operator', () => {
  const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name);
  expect(accounts.toSorted()).toEqual(['least', name('controller'), name('prepare')]);
  const used = ['front', 'renderer-us-east', 'controller'].map(
    (component) =>
      (podOf(find(objects, 'Deployment', name(component))) as { serviceAccountName?: string }).serviceAccountName,
  );
  expect(used).toEqual(['theirs', 'least', name('controller')]);
});

test("the browser is replaced below the operator's memory limit of the renderer", () => {
  const env = { ...envOf(find(objects, 'Deployment', name('renderer-us-east'))), WEBCAPTURE_POD: 'p' };
  const { browserMemoryBytes } = readRendererConfig({ ...env, WEBCAPTURE_NATS_PASSWORD: 'x' });
  expect(browserMemoryBytes).toBe(3584 * 1024 ** 2);
});

test('the seccomp profile is installed once on the nodes of each region', () => {
  const installers = objects.filter(({ kind }) => kind === 'DaemonSet');
  expect(
    installers.map((object) => {
      const { nodeSelector, tolerations } = podOf(object) as { nodeSelector?: object; tolerations?: object };
      return [object.metadata.name, nodeSelector, tolerations];
    }),
  ).toEqual([
    [name('seccomp-eu-west'), { pool: 'europe', arch: 'amd64' }, [{ key: 'europe', operator: 'Exists' }]],
    [name('seccomp-us-east'), { pool: 'render', arch: 'amd64' }, undefined],
  ]);
  // The installer runs as root, because the folder of the kubelet belongs to root.
  for (const object of installers) {
    expect(podOf(object)?.containers[0]?.securityContext).toMatchObject({ runAsUser: 0, runAsNonRoot: false });
  }
});

describe('NetworkPolicies', () => {
  const policyOf = (component: string) =>
    find(objects, 'NetworkPolicy', name(component))['spec'] as {
      ingress: { from?: object[] }[];
      egress: { to?: { ipBlock?: { cidr: string; except?: string[] } }[] }[];
    };

  test('allow the pod of helm test to reach fronts, in addition to other peers', () => {
    const [peers] = policyOf('front').ingress;
    const { metadata } = objects.find(({ kind, metadata: it }) => kind === 'Pod' && it.name === name('test')) ?? {};
    const [, test] = (peers?.from ?? []) as { podSelector: { matchLabels: Record<string, string> } }[];
    expect(metadata?.labels).toMatchObject(test?.podSelector.matchLabels ?? { none: '' });
  });

  test('block captures from the networks in egress.deny', () => {
    const blocks = policyOf('renderer').egress.flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
    expect(blocks.find(({ cidr }) => cidr === '0.0.0.0/0')?.except).toContain('203.0.113.0/24');
    expect(blocks.find(({ cidr }) => cidr === '::/0')?.except).toContain('2001:db8::/32');
  });
});

test('an Ingress has the annotations of its class and those of the operator', async () => {
  const annotations = (of: readonly KubeObject[]) => find(of, 'Ingress', 'wc-webcapture').metadata.annotations ?? {};
  expect(annotations(objects)).toMatchObject({ mine: 'yes', 'nginx.ingress.kubernetes.io/proxy-read-timeout': '300' });
  const other = await render({ ingress: { enabled: true, className: 'gce', hosts: ['a.example'] } });
  expect(annotations(other)).toEqual({});
}, 60_000);

test('controllers have only the permissions that they use, and may patch pods only with an autoscaler', () => {
  const rulesOf = (of: readonly KubeObject[]) =>
    (find(of, 'Role', name('controller')) as unknown as { rules: { resources: string[]; verbs: string[] }[] }).rules;
  const text = (of: readonly KubeObject[]) =>
    rulesOf(of).map(({ resources, verbs }) => `${resources.join()}: ${verbs.join(' ')}`);
  expect(text(defaults)).toEqual([
    'pods: list watch',
    'deployments: list watch',
    'leases: create',
    'leases: get update',
    'events: create patch',
    'renderregions: list watch',
    'renderregions/status: update',
  ]);
  expect(text(objects)[0]).toBe('pods: list watch patch');
  const costs = (of: readonly KubeObject[]) =>
    envOf(find(of, 'Deployment', name('controller')))['WEBCAPTURE_DELETION_COSTS'];
  expect([costs(defaults), costs(objects)]).toEqual(['off', 'on']);
});

test('spread constraints ignore pods of the previous version', () => {
  for (const object of defaults.filter(({ kind }) => kind === 'Deployment')) {
    const { topologySpreadConstraints } = podOf(object) as {
      topologySpreadConstraints?: { matchLabelKeys: string[] }[];
    };
    expect(topologySpreadConstraints?.map(({ matchLabelKeys }) => matchLabelKeys)).toEqual([
      ['pod-template-hash'],
      ['pod-template-hash'],
    ]);
  }
});

test('a share of the pods may be drained at any number of replicas', () => {
  const budgets = defaults.filter(({ kind }) => kind === 'PodDisruptionBudget');
  const shares = budgets.map(({ metadata, spec }) => [
    metadata.name,
    (spec as { maxUnavailable: unknown }).maxUnavailable,
  ]);
  expect(Object.fromEntries(shares)).toEqual({
    [name('front')]: '25%',
    [name('controller')]: 1,
    [name('renderer-us-east')]: '25%',
    [name('renderer-eu-west')]: '25%',
  });
});
