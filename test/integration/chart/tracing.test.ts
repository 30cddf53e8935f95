// @module-tag long
import { describe, expect, test } from 'vitest';
import { readTracingConfig } from '@webcapture/shared/tracing/config.ts';
import { envOf, find, helmDeadlineMs, type KubeObject, render } from '../../harness/helm.ts';

const name = (component: string) => `wc-webcapture-${component}`;
const services = ['front', 'renderer-us-east', 'controller'];
const endpoint = 'http://collector.observability:4318';
const variablesOf = (objects: readonly KubeObject[], service: string) =>
  envOf(find(objects, 'Deployment', name(service)));

interface Rule {
  readonly ports?: readonly { readonly port: number | string }[];
  readonly to?: readonly object[];
}

/** Returns the egress rules for the port of the collector. */
const rulesOf = (objects: readonly KubeObject[], component: string, port: number): readonly Rule[] =>
  (find(objects, 'NetworkPolicy', name(component))['spec'].egress as readonly Rule[]).filter(
    (rule) => rule.ports?.length === 1 && rule.ports[0]?.port === port,
  );

describe('tracing', () => {
  test(
    'is off by default',
    async () => {
      const objects = await render();
      expect(JSON.stringify(objects)).not.toContain('OTEL_');
      for (const component of ['front', 'renderer', 'controller'])
        expect(rulesOf(objects, component, 4318)).toEqual([]);
    },
    helmDeadlineMs,
  );

  test(
    'is on for all services with an endpoint, which their NetworkPolicies open',
    async () => {
      const objects = await render({ tracing: { endpoint, headersSecret: 'collector-headers', samplerRatio: 0.25 } });
      for (const service of services) {
        const variables = variablesOf(objects, service);
        expect(variables).toMatchObject({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
        expect(readTracingConfig(variables as Record<string, string>)).toEqual({
          sampler: 'parentbased_traceidratio',
          ratio: 0.25,
        });
        const { containers } = find(objects, 'Deployment', name(service))['spec'].template.spec;
        expect(containers[0].env).toContainEqual({
          name: 'OTEL_EXPORTER_OTLP_HEADERS',
          valueFrom: { secretKeyRef: { name: 'collector-headers', key: 'headers' } },
        });
      }
      for (const component of ['front', 'renderer', 'controller']) {
        expect(rulesOf(objects, component, 4318)).toEqual([{ ports: [{ protocol: 'TCP', port: 4318 }] }]);
      }
      expect(rulesOf(objects, 'nats', 4318)).toEqual([]);
    },
    helmDeadlineMs,
  );

  test.each([
    ['https://collector.example', 443],
    ['http://collector.example/otlp', 80],
    ['http://[fd00::1]:4318', 4318],
  ])(
    'opens the port of %s to the peers of the operator',
    async (address, port) => {
      const tracingTo = [{ ipBlock: { cidr: '203.0.113.9/32' } }];
      const objects = await render({ tracing: { endpoint: address }, networkPolicy: { tracingTo } });
      const rules = rulesOf(objects, 'front', port).filter(({ to }) => to?.length === 1);
      expect(rules).toEqual([{ ports: [{ protocol: 'TCP', port }], to: tracingTo }]);
    },
    helmDeadlineMs,
  );

  test.each([
    [{ endpoint: 'collector:4318' }, /endpoint/],
    [{ endpoint: 'http://user:secret@collector:4318' }, /endpoint/],
    [{ endpoint, samplerRatio: 1.5 }, /samplerRatio/],
    [{ endpoint, samplerRatio: '0.5' }, /samplerRatio/],
    [{ endpoint, headersSecret: 'Not A Name' }, /headersSecret/],
    [{ endpoint, token: 'x' }, /token/],
    [{ headersSecret: 'collector-headers' }, /tracing\.headersSecret: has no effect without tracing\.endpoint/],
  ])(
    'refuses %o',
    async (tracing, message) => {
      await expect(render({ tracing })).rejects.toThrow(message);
    },
    helmDeadlineMs,
  );
});
