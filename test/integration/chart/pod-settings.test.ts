// @module-tag long
import { beforeAll, describe, expect, test } from 'vitest';
import { find, helmDeadlineMs, podOf, render, type KubeObject } from '../../harness/helm.ts';

const name = (component: string) => `wc-webcapture-${component}`;

/** Settings of a component that no other has. */
const settingsOf = (component: string) => ({
  podAnnotations: { of: component },
  priorityClassName: `${component}-priority`,
  terminationGracePeriodSeconds: 77,
  lifecycle: { preStop: { exec: { command: ['sleep', component] } } },
  initContainers: [{ name: `init-${component}`, image: 'init.example/init:1' }],
  dnsPolicy: 'Default',
  dnsConfig: { searches: [`${component}.example`] },
  updateStrategy: { type: component === 'nats' ? 'OnDelete' : 'Recreate' },
});
const hookSettings = (component: string) => ({
  resources: { requests: { cpu: '33m' } },
  nodeSelector: { pool: component },
  tolerations: [{ key: component, operator: 'Exists' }],
  priorityClassName: `${component}-priority`,
});
const { nodeSelector, tolerations } = hookSettings('controller');
const set = {
  priorityClassName: 'common',
  podAnnotations: { of: 'all', common: 'yes' },
  global: { imagePullSecrets: [{ name: 'shared' }] },
  imagePullSecrets: [{ name: 'own' }, { name: 'shared' }],
  front: {
    ...settingsOf('front'),
    service: { type: 'LoadBalancer', loadBalancerClass: 'example.com/own', loadBalancerSourceRanges: ['10.0.0.0/8'] },
  },
  renderer: {
    ...settingsOf('renderer'),
    sandbox: { mode: 'localhost', installer: { enabled: true, ...hookSettings('installer') } },
    resources: { requests: { cpu: '1' } },
  },
  controller: { ...settingsOf('controller'), nodeSelector, tolerations },
  nats: settingsOf('nats'),
  prepare: hookSettings('prepare'),
  test: hookSettings('test'),
  monitoring: {
    serviceMonitor: {
      enabled: true,
      relabelings: [{ targetLabel: 'cluster', replacement: 'one' }],
      metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }],
    },
  },
  regions: [
    { name: 'us-east' },
    { name: 'us-west', resources: { limits: { cpu: '3', memory: '4Gi' } } },
    { name: 'eu-west', resources: { requests: { memory: '3Gi' } } },
  ],
};

let defaults: readonly KubeObject[];
let objects: readonly KubeObject[];
beforeAll(async () => {
  [defaults, objects] = await Promise.all([render(), render(set)]);
}, helmDeadlineMs);

const annotationsOf = (object: KubeObject) =>
  (object['spec'] as { template: { metadata: { annotations?: Record<string, string> } } }).template.metadata
    .annotations ?? {};
const resourcesOf = (object: KubeObject) => podOf(object)?.containers[0]?.resources;

const components = [
  ['front', 'Deployment', 'front'],
  ['renderer', 'Deployment', 'renderer-us-east'],
  ['controller', 'Deployment', 'controller'],
  ['nats', 'StatefulSet', 'nats'],
] as const;

describe.each(components)('the pods of %s', (component, kind, suffix) => {
  test('have the settings of their component', () => {
    const { podAnnotations, updateStrategy, lifecycle, ...settings } = settingsOf(component);
    const object = find(objects, kind, name(suffix));
    expect(podOf(object)).toMatchObject(settings);
    expect(podOf(object)?.containers[0]).toMatchObject({ lifecycle });
    expect(annotationsOf(object)).toMatchObject(podAnnotations);
    expect(object['spec']).toMatchObject(
      component === 'nats' ? { updateStrategy: { type: 'OnDelete' } } : { strategy: updateStrategy },
    );
    // A strategy of the operator replaces the default one completely. Merging them would leave `rollingUpdate`, which other types do not allow.
    expect(JSON.stringify(object['spec'])).not.toContain('rollingUpdate');
  });

  test('are not set without values', () => {
    const pod = podOf(find(defaults, kind, name(suffix))) as unknown as Record<string, unknown>;
    for (const key of ['priorityClassName', 'initContainers', 'dnsPolicy', 'dnsConfig', 'imagePullSecrets']) {
      expect(pod).not.toHaveProperty(key);
    }
  });
});

test('annotations of all pods apply to every component except the embedded NATS, and those of the component take precedence', () => {
  expect(annotationsOf(find(objects, 'Deployment', name('controller')))).toMatchObject({
    common: 'yes',
    of: 'controller',
  });
  expect(annotationsOf(find(objects, 'StatefulSet', name('nats')))).not.toHaveProperty('common');
});

test('all pods, also those of hooks, have the pull secrets of the release and of the parent chart, each once', () => {
  const pods = objects.flatMap((object) => podOf(object) ?? []) as { imagePullSecrets?: object }[];
  expect(pods.length).toBeGreaterThan(8);
  for (const { imagePullSecrets } of pods) expect(imagePullSecrets).toEqual([{ name: 'own' }, { name: 'shared' }]);
});

describe.each([
  ['prepare', 'Job', 'prepare'],
  ['test', 'Pod', 'test'],
  ['installer', 'DaemonSet', 'seccomp-us-east'],
] as const)('the pod of %s', (component, kind, suffix) => {
  test('has its own resources and place', () => {
    const { resources, ...place } = hookSettings(component);
    const object = find(objects, kind, name(suffix));
    expect(podOf(object)).toMatchObject(place);
    expect(podOf(object)?.nodeSelector).toEqual(place.nodeSelector);
    expect(resourcesOf(object)).toMatchObject(resources);
  });

  test('has a limit for CPU and memory, so that a ResourceQuota on both admits it', () => {
    expect(Object.keys(resourcesOf(find(objects, kind, name(suffix)))?.limits ?? {})).toEqual(['cpu', 'memory']);
  });
});

test(
  'the Job runs where controllers run unless it has its own settings',
  async () => {
    const made = await render({ controller: { nodeSelector, tolerations, priorityClassName: 'high' } });
    expect(podOf(find(made, 'Job', name('prepare')))).toMatchObject({
      nodeSelector,
      tolerations,
      priorityClassName: 'high',
    });
  },
  helmDeadlineMs,
);

test('the installer runs once on the same nodes, even if the regions differ', () => {
  expect(objects.filter(({ kind }) => kind === 'DaemonSet')).toHaveLength(1);
});

test('the cluster autoscaler may remove nodes of fronts and controllers in spite of their volume /tmp', () => {
  for (const component of ['front', 'controller']) {
    const deployment = find(defaults, 'Deployment', name(component));
    const onDisk = (podOf(deployment)?.volumes ?? []).flatMap((volume) => {
      const { name: volumeName, emptyDir } = volume as { name: string; emptyDir?: { medium?: string } };
      return emptyDir !== undefined && emptyDir.medium !== 'Memory' ? [volumeName] : [];
    });
    const allowed = annotationsOf(deployment)['cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes'];
    expect(allowed?.split(',')).toEqual(onDisk);
  }
  const renderer = podOf(find(defaults, 'Deployment', name('renderer-us-east')));
  for (const volume of renderer?.volumes ?? []) expect(volume).toMatchObject({ emptyDir: { medium: 'Memory' } });
});

describe('an amount of renderer.resources', () => {
  test.each([
    ['us-east', { requests: { cpu: '1', memory: '1824Mi' }, limits: { memory: '1824Mi' } }],
    ['us-west', { requests: { cpu: '1', memory: '4Gi' }, limits: { cpu: '3', memory: '4Gi' } }],
    ['eu-west', { requests: { cpu: '1', memory: '3Gi' }, limits: { memory: '3Gi' } }],
  ])('removes none that is computed, and wins over it: %s', (region, resources) => {
    expect(resourcesOf(find(objects, 'Deployment', name(`renderer-${region}`)))).toEqual(resources);
  });

  test(
    'may limit the CPU below what the slots request',
    async () => {
      const made = await render({ renderer: { resources: { limits: { cpu: '150m' } } } });
      expect(resourcesOf(find(made, 'Deployment', name('renderer-us-east')))).toEqual({
        requests: { cpu: '150m', memory: '1824Mi' },
        limits: { cpu: '150m', memory: '1824Mi' },
      });
    },
    helmDeadlineMs,
  );
});

test('the Service of the fronts has the class and the clients of its load balancer', () => {
  expect(find(objects, 'Service', name('front'))['spec']).toMatchObject({
    loadBalancerClass: 'example.com/own',
    loadBalancerSourceRanges: ['10.0.0.0/8'],
  });
});

test('the ServiceMonitor changes labels as the operator says', () => {
  const { relabelings, metricRelabelings } = set.monitoring.serviceMonitor;
  expect(find(objects, 'ServiceMonitor', 'wc-webcapture')['spec'].endpoints).toMatchObject([
    { relabelings, metricRelabelings },
  ]);
});
