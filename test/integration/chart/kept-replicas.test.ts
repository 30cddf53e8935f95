// @module-tag long
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { find, helmDeadlineMs, renderAnew } from '../../harness/helm.ts';

const scaledFronts = { front: { autoscaling: { enabled: true } } };
const replicasOf = (name: string, objects: Awaited<ReturnType<typeof renderAnew>>['objects']) =>
  (find(objects, 'Deployment', `wc-webcapture-${name}`)['spec'] as { replicas?: number }).replicas;

/** The kinds that the chart renders in these tests, which Helm looks for in the API of the cluster. */
const groups: Readonly<Record<string, readonly string[]>> = {
  '/api/v1': ['ConfigMap', 'Service', 'ServiceAccount'],
  '/apis/apps/v1': ['Deployment', 'StatefulSet'],
  '/apis/autoscaling/v2': ['HorizontalPodAutoscaler'],
  '/apis/networking.k8s.io/v1': ['NetworkPolicy'],
  '/apis/policy/v1': ['PodDisruptionBudget'],
  '/apis/rbac.authorization.k8s.io/v1': ['Role', 'RoleBinding'],
};
const pluralOf = (kind: string) => kind.toLowerCase().replace(/y$/, 'ie').concat('s');

/** A Deployment of fronts that an autoscaler has scaled to seven. */
const scaledTo7 = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'wc-webcapture-front',
    namespace: 'ns',
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: { 'meta.helm.sh/release-name': 'wc', 'meta.helm.sh/release-namespace': 'ns' },
  },
  spec: { replicas: 7 },
};

/** Returns the answer of a cluster that contains nothing else, or undefined for 404. */
function answerTo(path: string): object | undefined {
  const resources = groups[path];
  if (resources !== undefined) {
    return {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: path.replace(/^\/apis?\//, ''),
      resources: resources.map((kind) => ({ kind, name: pluralOf(kind), namespaced: true, verbs: ['get'] })),
    };
  }
  const versions = Object.keys(groups).flatMap((group) => /^\/apis\/(.*)$/.exec(group)?.[1] ?? []);
  return {
    '/version': { major: '1', minor: '33', gitVersion: 'v1.33.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: versions.map((groupVersion) => {
        const [name, version] = groupVersion.split('/');
        return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
      }),
    },
    '/apis/apps/v1/namespaces/ns/deployments/wc-webcapture-front': scaledTo7,
  }[path];
}

let cluster: Server;
let clusterArgs: readonly string[];
beforeAll(async () => {
  cluster = createServer(({ url = '' }, response) => {
    const answer = answerTo(url.split('?')[0] ?? '');
    const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? missing));
  });
  await new Promise<void>((resolve) => cluster.listen(0, '127.0.0.1', resolve));
  const { port } = cluster.address() as AddressInfo;
  clusterArgs = [
    '--dry-run=server',
    '--disable-openapi-validation',
    '--kubeconfig=/dev/null',
    `--kube-apiserver=http://127.0.0.1:${port}`,
  ];
}, helmDeadlineMs);
afterAll(() => cluster.close());

describe('spec.replicas of a Deployment', () => {
  test(
    'is left out with an autoscaler, independent of the number in the cluster, so that no upgrade resets it',
    async () => {
      const { objects } = await renderAnew({ ...scaledFronts, hpa: { enabled: true } }, clusterArgs);
      expect(replicasOf('front', objects)).toBeUndefined();
      expect(replicasOf('renderer-us-east', objects)).toBeUndefined();
    },
    helmDeadlineMs,
  );

  test(
    'is the number in the cluster with keepReplicas, so that the upgrade that turns an autoscaler on does not scale to one',
    async () => {
      const { objects } = await renderAnew({ ...scaledFronts, keepReplicas: true }, clusterArgs);
      expect(replicasOf('front', objects)).toBe(7);
      // Without an autoscaler, the number of replicas comes from the values.
      expect(replicasOf('renderer-us-east', objects)).toBe(1);
    },
    helmDeadlineMs,
  );

  test(
    'is left out with keepReplicas if the cluster has no such Deployment, or is not asked',
    async () => {
      const values = { ...scaledFronts, keepReplicas: true, hpa: { enabled: true } };
      const asked = await renderAnew(values, clusterArgs);
      expect(replicasOf('renderer-us-east', asked.objects)).toBeUndefined();
      const { objects } = await renderAnew(values);
      expect(replicasOf('front', objects)).toBeUndefined();
    },
    helmDeadlineMs,
  );
});
