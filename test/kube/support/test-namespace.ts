import { randomUUID } from 'node:crypto';
import type { V1Pod } from '@kubernetes/client-node';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { RenderRegion } from '../../../services/controller/kubernetes/objects.ts';
import type { ControlPlane } from '../../harness/control-plane.ts';
import type { KubeApi } from '../../harness/kube-api.ts';

/** Exactly the rights that the chart gives the controller. */
const rules = [
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'watch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['webcapture.dev'], resources: ['renderregions'], verbs: ['list', 'watch'] },
  { apiGroups: ['webcapture.dev'], resources: ['renderregions/status'], verbs: ['update'] },
];

export const release = 'test';

/** A namespace for a test, with the controller's Role. There is no kubelet: the test sets the state of pods. */
export class TestNamespace {
  readonly name: string;
  readonly api: KubeApi;

  private constructor(name: string, api: KubeApi) {
    this.name = name;
    this.api = api;
  }

  static async create(plane: ControlPlane): Promise<TestNamespace> {
    const name = `t-${randomUUID().slice(0, 8)}`;
    const api = plane.api();
    await api.do('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}`;
    const metadata = { name: 'controller' };
    await api.do('POST', `${rbac}/roles`, { metadata, rules });
    await api.do('POST', `${rbac}/rolebindings`, {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'controller' },
      subjects: [
        { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'controller' },
        { kind: 'ServiceAccount', name: 'controller', namespace: name },
      ],
    });
    return new TestNamespace(name, api);
  }

  /** Returns a token as the kubelet requests it for a pod, of a service account with the same Role. */
  async accountToken(): Promise<string> {
    const accounts = `/api/v1/namespaces/${this.name}/serviceaccounts`;
    await this.api.do('POST', accounts, { metadata: { name: 'controller' } });
    const request = { spec: { expirationSeconds: 600 } };
    const { status } = await this.api.do<{ status: { token: string } }>(
      'POST',
      `${accounts}/controller/token`,
      request,
    );
    return status.token;
  }

  async addPod(name: string, region: Region, state: 'ready' | 'unready' = 'ready', waiting?: string): Promise<void> {
    await this.api.do('POST', this.path('pods'), {
      metadata: { name, labels: labelsOf(region) },
      // The pod has a node, so that it terminates gracefully, like a real one.
      spec: { nodeName: 'node', containers: [{ name: 'renderer', image: 'none' }], terminationGracePeriodSeconds: 30 },
    });
    await this.setState(name, state, waiting);
  }

  async setState(name: string, state: 'ready' | 'unready', waiting?: string): Promise<void> {
    const now = new Date().toISOString();
    await this.api.do('PATCH', `${this.path('pods')}/${name}/status`, {
      status: {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: state === 'ready' ? 'True' : 'False', lastTransitionTime: now }],
        ...(waiting === undefined
          ? {}
          : {
              containerStatuses: [
                {
                  name: 'renderer',
                  image: 'none',
                  imageID: '',
                  ready: false,
                  restartCount: 3,
                  state: { waiting: { reason: waiting } },
                },
              ],
            }),
      },
    });
  }

  /** Deletes a pod gracefully, so that it is terminating. */
  async endPod(name: string): Promise<void> {
    await this.api.do('DELETE', `${this.path('pods')}/${name}`);
  }

  /** Deletes a pod immediately, as if its node no longer existed. */
  async killPod(name: string): Promise<void> {
    await this.api.do('DELETE', `${this.path('pods')}/${name}?gracePeriodSeconds=0`);
  }

  async pod(name: string): Promise<V1Pod> {
    return this.api.do<V1Pod>('GET', `${this.path('pods')}/${name}`);
  }

  async podNames(): Promise<string[]> {
    const { items } = await this.api.do<{ items: V1Pod[] }>('GET', this.path('pods'));
    return items
      .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata?.name ?? '');
  }

  async addDeployment(region: Region, replicas: number): Promise<void> {
    const labels = labelsOf(region);
    await this.api.do('POST', this.path('deployments'), {
      metadata: { name: deploymentOf(region), labels },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'renderer', image: 'none' }] } },
      },
    });
  }

  async scale(region: Region, replicas: number): Promise<void> {
    await this.api.do('PATCH', `${this.path('deployments')}/${deploymentOf(region)}`, { spec: { replicas } });
  }

  async addRegion(region: Region, deployment = deploymentOf(region)): Promise<void> {
    await this.api.do('POST', this.path('renderregions'), {
      apiVersion: 'webcapture.dev/v1alpha1',
      kind: 'RenderRegion',
      metadata: { name: region, labels: { 'app.kubernetes.io/instance': release } },
      spec: { region, deployment },
    });
  }

  async region(region: Region): Promise<RenderRegion> {
    return this.api.do<RenderRegion>('GET', `${this.path('renderregions')}/${region}`);
  }

  /** Returns reason, note and count of the Events about a region, in their order. */
  async events(region: Region): Promise<{ reason: string; note: string; count: number }[]> {
    interface Event {
      readonly metadata: { readonly resourceVersion: string };
      readonly reason: string;
      readonly note: string;
      readonly regarding: { readonly name: string };
      readonly series?: { readonly count: number };
    }
    const { items } = await this.api.do<{ items: Event[] }>('GET', this.path('events'));
    return items
      .filter(({ regarding }) => regarding.name === region)
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ reason, note, series }) => ({ reason, note, count: series?.count ?? 1 }));
  }

  path(resource: 'pods' | 'deployments' | 'renderregions' | 'events' | 'leases' | 'configmaps'): string {
    return `${groups[resource]}/namespaces/${this.name}/${resource}`;
  }
}

const groups = {
  pods: '/api/v1',
  configmaps: '/api/v1',
  deployments: '/apis/apps/v1',
  renderregions: '/apis/webcapture.dev/v1alpha1',
  events: '/apis/events.k8s.io/v1',
  leases: '/apis/coordination.k8s.io/v1',
} as const;

const deploymentOf = (region: Region) => `test-renderer-${region}`;

const labelsOf = (region: Region) => ({
  'app.kubernetes.io/name': 'webcapture',
  'app.kubernetes.io/instance': release,
  'app.kubernetes.io/component': 'renderer',
  'webcapture.dev/region': region,
});
