// @module-tag long
import { beforeAll, describe, expect, test } from 'vitest';
import { find, helmDeadlineMs, render, type KubeObject } from '../../harness/helm.ts';

const name = (component: string) => `wc-webcapture-${component}`;
const components = ['front', 'renderer', 'controller', 'nats', 'prepare'];

interface Rule {
  readonly ports?: readonly { readonly port: number | string }[];
  readonly from?: readonly object[];
  readonly to?: readonly { readonly ipBlock?: { readonly cidr: string } }[];
}
const policyOf = (objects: readonly KubeObject[], component: string) =>
  find(objects, 'NetworkPolicy', name(component))['spec'] as {
    readonly ingress: readonly Rule[];
    readonly egress: readonly Rule[];
  };
const portsOf = ({ ports = [] }: Rule) => ports.map(({ port }) => port);
const servicesOf = (objects: readonly KubeObject[]) => objects.filter(({ kind }) => kind === 'Service');

const istiod = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'istio-system' } } };
const probes = { from: [{ ipBlock: { cidr: '169.254.7.127/32' } }] };
const exporter = { ports: [{ port: 4317 }] };

/** Network options that do not affect each other. */
const custom = {
  ipFamilyPolicy: 'PreferDualStack',
  ipFamilies: ['IPv6', 'IPv4'],
  networkPolicy: {
    apiServer: { cilium: true, ports: [6443] },
    extraIngress: [probes],
    nats: { extraEgress: [exporter] },
    mesh: { ingressPorts: [15_008], egressPorts: [15_008, 15_012], egressTo: [istiod] },
  },
  prepare: { podAnnotations: { 'linkerd.io/inject': 'disabled' }, podLabels: { 'sidecar.istio.io/inject': 'false' } },
  test: { podAnnotations: { 'linkerd.io/inject': 'enabled' }, podLabels: { 'sidecar.istio.io/inject': 'true' } },
  monitoring: { serviceMonitor: { enabled: true } },
};

let defaults: readonly KubeObject[];
let objects: readonly KubeObject[];
beforeAll(async () => {
  [defaults, objects] = await Promise.all([render(), render(custom)]);
}, helmDeadlineMs);

describe('IP families', () => {
  test('of all Services are those of the cluster, or those of the operator', () => {
    expect(servicesOf(defaults).map(({ metadata }) => metadata.name)).toEqual(
      ['controller', 'front', 'nats', 'nats-headless'].map(name),
    );
    for (const { spec } of servicesOf(defaults)) expect(JSON.stringify(spec)).not.toContain('ipFamil');
    expect(servicesOf(objects)).toHaveLength(5);
    for (const service of servicesOf(objects)) {
      expect(service).toMatchObject({ spec: { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] } });
    }
  });

  test('do not change the listen addresses of the pods, which include IPv6', () => {
    const variables = JSON.stringify(defaults.filter(({ kind }) => kind === 'Deployment'));
    expect(variables).not.toMatch(/WEBCAPTURE_(OPS_)?HOST/);
  });
});

describe('the API server', () => {
  const apiRulesOf = (of: readonly KubeObject[], component: string) =>
    policyOf(of, component).egress.filter((rule) => portsOf(rule).includes(6443));

  test('is allowed by its ports, because Cilium does not match nodes by address', () => {
    for (const component of ['controller', 'prepare']) {
      const rules = apiRulesOf(defaults, component);
      expect(rules.map(portsOf)).toEqual([[443, 6443]]);
      expect(rules[0]).not.toHaveProperty('to');
    }
    for (const component of ['front', 'renderer', 'nats']) expect(apiRulesOf(defaults, component)).toEqual([]);
    expect(defaults.filter(({ apiVersion }) => apiVersion.startsWith('cilium.io/'))).toEqual([]);
  });

  test(
    'is allowed by its addresses if they are set',
    async () => {
      const own = await render({ networkPolicy: { apiServer: { cidrs: ['172.16.0.2/32', 'fd00::1/128'] } } });
      for (const component of ['controller', 'prepare']) {
        const [rule] = apiRulesOf(own, component);
        expect(rule?.to).toEqual([{ ipBlock: { cidr: '172.16.0.2/32' } }, { ipBlock: { cidr: 'fd00::1/128' } }]);
      }
    },
    helmDeadlineMs,
  );

  test('is allowed as an entity of Cilium, from the pods that use it only', () => {
    for (const component of ['controller', 'prepare']) {
      expect(apiRulesOf(objects, component)).toEqual([]);
      const policy = find(objects, 'CiliumNetworkPolicy', name(`${component}-api-server`));
      const { matchLabels } = find(objects, 'NetworkPolicy', name(component))['spec'].podSelector as {
        matchLabels: object;
      };
      expect(policy).toMatchObject({
        apiVersion: 'cilium.io/v2',
        spec: {
          endpointSelector: { matchLabels },
          egress: [{ toEntities: ['kube-apiserver'], toPorts: [{ ports: [{ port: '6443', protocol: 'TCP' }] }] }],
        },
      });
    }
    expect(objects.filter(({ kind }) => kind === 'CiliumNetworkPolicy')).toHaveLength(2);
    // The Job runs before all other objects exist.
    expect(find(objects, 'CiliumNetworkPolicy', name('prepare-api-server')).metadata.annotations).toEqual(
      find(objects, 'NetworkPolicy', name('prepare')).metadata.annotations,
    );
  });
});

describe('a service mesh', () => {
  test('learns that the server of NATS speaks first', () => {
    for (const service of [name('nats'), name('nats-headless')]) {
      expect(find(defaults, 'Service', service)).toMatchObject({
        spec: {
          ports: expect.arrayContaining([expect.objectContaining({ port: 4222, appProtocol: 'tcp' })]) as unknown,
        },
      });
    }
  });

  test('reaches all pods on its ports, and all pods reach it', () => {
    for (const component of components) {
      const [own, extended] = [policyOf(defaults, component), policyOf(objects, component)];
      expect(extended.ingress.slice(-2)).toEqual([{ ports: [{ protocol: 'TCP', port: 15_008 }] }, probes]);
      const ports = [15_008, 15_012].map((port) => ({ protocol: 'TCP', port }));
      expect(extended.egress.at(-1)).toEqual({ ports, to: [istiod] });
      expect([...own.ingress, ...own.egress].flatMap(portsOf).filter((port) => Number(port) > 15_000)).toEqual([]);
    }
  });

  test('gives the pod of NATS access to DNS, as any additional egress rule does', () => {
    expect(policyOf(defaults, 'nats').egress).toEqual([]);
    expect(policyOf(objects, 'nats').egress.map(portsOf)).toEqual([[53, 53], [4317], [15_008, 15_012]]);
  });

  test('can be switched off in the pods that end', () => {
    const job = find(objects, 'Job', name('prepare'))['spec'] as {
      template: { metadata: { labels: object; annotations: object } };
    };
    expect(job.template.metadata).toMatchObject({
      labels: { 'sidecar.istio.io/inject': 'false', 'app.kubernetes.io/component': 'prepare' },
      annotations: { 'linkerd.io/inject': 'disabled' },
    });
    expect(find(objects, 'Pod', name('test')).metadata).toMatchObject({
      labels: { 'sidecar.istio.io/inject': 'true', 'app.kubernetes.io/component': 'test' },
      annotations: { 'linkerd.io/inject': 'enabled', 'helm.sh/hook': 'test' },
    });
  });
});

test.each<[object, RegExp]>([
  [{ ipFamilyPolicy: 'DualStack' }, /ipFamilyPolicy/],
  [{ ipFamilies: ['ipv6'] }, /ipFamilies/],
  [{ ipFamilies: ['IPv6', 'IPv6'] }, /ipFamilies/],
  [{ ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6', 'IPv4'] }, /ipFamilies: must name one family/],
  [
    { networkPolicy: { apiServer: { cilium: true, cidrs: ['10.0.0.1/32'] } } },
    /networkPolicy\.apiServer\.cidrs: has no effect/,
  ],
  [{ networkPolicy: { mesh: { egressTo: [istiod] } } }, /networkPolicy\.mesh\.egressTo: has no effect/],
  [{ networkPolicy: { mesh: { ingressPorts: ['15008'] } } }, /mesh[./]ingressPorts/],
  [{ networkPolicy: { nats: { egress: [] } } }, /networkPolicy[./]nats/],
  [{ prepare: { podLabels: { inject: false } } }, /prepare[./]podLabels/],
])(
  'refuses %j',
  async (values, message) => {
    await expect(render(values)).rejects.toThrow(message);
  },
  helmDeadlineMs,
);
