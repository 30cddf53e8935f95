// @module-tag long
import { beforeAll, describe, expect, test } from 'vitest';
import { readControllerConfig } from '../../../services/controller/config.ts';
import { readRendererConfig } from '../../../services/renderer/config.ts';
import { secretKeyOf } from '../../harness/chart-nats.ts';
import {
  chartFolder,
  chartValues,
  envOf,
  find,
  helm,
  helmDeadlineMs,
  imageArgs,
  podOf,
  render,
  type KubeObject,
} from '../../harness/helm.ts';

const satellite = {
  role: 'satellite',
  cluster: { name: 'asia' },
  auth: { existingSecret: 'hub-auth' },
  regions: [{ name: 'asia-southeast', replicas: 2 }, { name: 'asia-east' }],
  nats: {
    url: 'tls://nats.hub.example:4222',
    existingSecret: 'nats',
    domain: 'hub',
    tls: { caSecret: 'ca', clientSecret: 'client', serverName: 'nats.internal', handshakeFirst: true },
  },
  renderRegions: 'always',
};

/** Values shared by all clusters of an operator may enable features that only a hub has. */
const shared = {
  ...satellite,
  keda: { enabled: true },
  front: { autoscaling: { enabled: true } },
  monitoring: {
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboard: { enabled: true },
  },
};

let objects: readonly KubeObject[];
let everything: readonly KubeObject[];
beforeAll(async () => {
  [objects, everything] = await Promise.all([render(satellite), render(shared)]);
}, helmDeadlineMs);

const namesOf = (of: readonly KubeObject[]) => of.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

describe('a satellite', () => {
  test('has renderers and a controller, and no components of a hub', () => {
    expect(namesOf(objects).toSorted()).toEqual(
      [
        'Deployment wc-webcapture-controller',
        'Deployment wc-webcapture-renderer-asia-east',
        'Deployment wc-webcapture-renderer-asia-southeast',
        'NetworkPolicy wc-webcapture-controller',
        'NetworkPolicy wc-webcapture-renderer',
        'PodDisruptionBudget wc-webcapture-controller',
        'PodDisruptionBudget wc-webcapture-renderer-asia-east',
        'PodDisruptionBudget wc-webcapture-renderer-asia-southeast',
        'RenderRegion asia-east',
        'RenderRegion asia-southeast',
        'Role wc-webcapture-controller',
        'RoleBinding wc-webcapture-controller',
        'Service wc-webcapture-controller',
        'ServiceAccount wc-webcapture-controller',
        'ServiceAccount wc-webcapture-renderer',
      ].toSorted(),
    );
    const added = namesOf(everything).filter((name) => !namesOf(objects).includes(name));
    expect(added.toSorted()).toEqual([
      'PrometheusRule wc-webcapture',
      'ScaledObject wc-webcapture-renderer-asia-east',
      'ScaledObject wc-webcapture-renderer-asia-southeast',
      'Service wc-webcapture-metrics',
      'ServiceMonitor wc-webcapture',
    ]);
  });

  test('has the alerts that its services can trigger', () => {
    const { groups } = find(everything, 'PrometheusRule', 'wc-webcapture')['spec'] as {
      groups: { rules: { alert: string }[] }[];
    };
    expect(groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))).toEqual([
      'WebcaptureCapturesFail',
      'WebcaptureBrowserDown',
      'WebcaptureApiServerUnreachable',
      'WebcaptureUpstreamProxyFails',
      'WebcaptureSatelliteCutOff',
      'WebcaptureFleetConfigDiffers',
    ]);
  });

  test('gives its pods the address of the hub, and the certificates and users to join it', () => {
    const tls = {
      caFile: '/var/run/secrets/webcapture/nats/ca.crt',
      certFile: '/var/run/secrets/webcapture/nats/tls.crt',
      keyFile: '/var/run/secrets/webcapture/nats/tls.key',
      serverName: 'nats.internal',
      handshakeFirst: true,
    };
    const added = {
      WEBCAPTURE_POD: 'pod',
      WEBCAPTURE_NATS_PASSWORD: 'secret',
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT: '443',
    };
    const envFor = (name: string) => envOf(find(objects, 'Deployment', `wc-webcapture-${name}`));
    const controller = readControllerConfig({ ...envFor('controller'), ...added });
    const { password: _, ...nats } = controller.nats;
    expect(controller.role).toBe('satellite');
    const user = 'satellite-asia-southeast';
    expect(nats).toEqual({ url: 'tls://nats.hub.example:4222', user, tls, domain: 'hub', prefix: '' });
    expect(controller.regions.map(({ region }) => region)).toEqual(['asia-southeast', 'asia-east']);
    expect(controller.kubernetes?.clusterName).toBe('asia');
    const renderer = readRendererConfig({ ...envFor('renderer-asia-east'), ...added });
    expect([renderer.nats.user, renderer.nats.tls, renderer.nats.domain]).toEqual(['renderer-asia-east', tls, 'hub']);
    const keys = ['controller', 'renderer-asia-east'].flatMap((name) =>
      (podOf(find(objects, 'Deployment', `wc-webcapture-${name}`))?.containers[0]?.env ?? []).flatMap(
        (it) => secretKeyOf(it) ?? [],
      ),
    );
    expect(keys).toEqual([
      { name: 'nats', key: 'satellite-asia-southeast-password' },
      { name: 'nats', key: 'renderer-asia-east-password' },
      { name: 'hub-auth', key: 'secrets-key', optional: false },
    ]);
    for (const name of ['controller', 'renderer-asia-east']) {
      expect(podOf(find(objects, 'Deployment', `wc-webcapture-${name}`))?.volumes).toContainEqual({
        name: 'nats-tls',
        projected: {
          sources: [
            { secret: { name: 'ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            {
              secret: {
                name: 'client',
                items: [
                  { key: 'tls.crt', path: 'tls.crt' },
                  { key: 'tls.key', path: 'tls.key' },
                ],
              },
            },
          ],
        },
      });
    }
  });

  test('starts without a key for the secrets of captures if the operator accepts that', async () => {
    const secretsKeyOf = (of: readonly KubeObject[]) =>
      podOf(find(of, 'Deployment', 'wc-webcapture-renderer-asia-east'))?.containers[0]?.env?.find(
        ({ name }) => name === 'WEBCAPTURE_SECRETS_KEY',
      )?.valueFrom;
    expect(secretsKeyOf(await render({ ...satellite, auth: { acceptNoSecretsKey: true } }))).toEqual({
      secretKeyRef: { name: 'wc-webcapture-auth', key: 'secrets-key', optional: true },
    });
  });

  test('replaces a controller that cannot join its fleet, even if its successor is not ready', () => {
    expect(find(objects, 'Deployment', 'wc-webcapture-controller')['spec']).toMatchObject({
      strategy: { type: 'Recreate' },
    });
  });

  test('has a controller without access to public addresses, as the hub sends webhooks', () => {
    const { egress } = find(objects, 'NetworkPolicy', 'wc-webcapture-controller')['spec'] as {
      egress: { ports?: object[] }[];
    };
    // DNS, NATS and the API server.
    expect(egress).toHaveLength(3);
    expect(egress.filter(({ ports }) => ports === undefined)).toEqual([]);
  });

  test.each([
    ['no address', { nats: { existingSecret: 'nats' } }, /^.*nats\.url: a satellite joins the NATS of its hub/s],
    [
      'no credential',
      { nats: { url: 'tls://hub:4222' } },
      /satellite-us-east-password, and renderer-<region>-password/,
    ],
    [
      'no key for the secrets of captures',
      { nats: satellite.nats },
      /auth\.existingSecret: name the Secret with the secrets-key/,
    ],
    ['an Ingress', { ...satellite, ingress: { enabled: true, hosts: ['a.example'] } }, /a satellite has no fronts/],
    ['other regions', { ...satellite, otherRegions: [{ name: 'us-west', replicas: 1 }] }, /otherRegions: only the hub/],
    ['another role', { role: 'spoke' }, /role/],
  ])('is refused with %s', async (_, values, message) => {
    await expect(render({ role: 'satellite', ...values })).rejects.toThrow(message);
  });

  test(
    'passes helm lint',
    async () => {
      const values = ['--values', chartValues('satellite')];
      const said = await helm(['lint', '--strict', '--kube-version', '1.33.0', ...imageArgs, ...values, chartFolder]);
      expect(said).not.toMatch(/WARNING|ERROR/);
    },
    helmDeadlineMs,
  );

  test('needs NATS servers of the operator, as the embedded one has no TLS', async () => {
    await expect(render({ nats: { tls: { caSecret: 'ca' } } })).rejects.toThrow(/the embedded NATS has no TLS/);
  });
});
