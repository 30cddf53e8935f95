// @module-tag long
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { drainMs as controllerDrainMs, readControllerConfig } from '../../../services/controller/config.ts';
import { drainMsOf as frontDrainMs, readFrontConfig } from '../../../services/front/config.ts';
import { documentScript } from '@webcapture/shared/documents/write-document.ts';
import { maxMergeProcesses } from '../../../services/front/plugins/merge/merges.ts';
import { maxDataKiB } from '../../../services/front/pictures/picture-scaler.ts';
import { maxScalings } from '../../../services/front/plugins/thumbnails/scaled-pictures.ts';
import { drainMs as rendererDrainMs, readRendererConfig } from '../../../services/renderer/config.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
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

const file = (name: string) => readFile(join(chartFolder, name), 'utf8');
const production = parse(await file('examples/production.yaml')) as object;
const everything = { ...production, ...(parse(await readFile(chartValues('everything'), 'utf8')) as object) };

let defaults: readonly KubeObject[];
let produced: readonly KubeObject[];
let all: readonly KubeObject[];
beforeAll(async () => {
  defaults = await render();
  [produced, all] = await Promise.all([render(production), render(everything)]);
}, helmDeadlineMs);

const rendered = (): Readonly<Record<string, readonly KubeObject[]>> => ({ defaults, produced, all });

const productionFile = join(chartFolder, 'examples/production.yaml');
test.each([[[]], [[productionFile, chartValues('everything')]], [[chartValues('volume')]]])(
  'helm lint has no warnings for %j',
  async (files) => {
    const values = files.flatMap((name) => ['--values', name]);
    const said = await helm(['lint', '--strict', '--kube-version', '1.33.0', ...imageArgs, ...values, chartFolder]);
    expect(said).toContain('0 chart(s) failed');
    expect(said).not.toMatch(/WARNING|ERROR/);
  },
  helmDeadlineMs,
);

describe.each(['defaults', 'produced', 'all'])('the chart with the values "%s"', (name) => {
  test('sets the common labels on every object, and uses each name once', () => {
    const objects = rendered()[name] ?? [];
    expect(objects.length).toBeGreaterThan(15);
    for (const { kind, metadata } of objects) {
      const labels = metadata.labels ?? {};
      expect([kind, labels['app.kubernetes.io/name'], labels['app.kubernetes.io/instance']]).toEqual([
        kind,
        'webcapture',
        'wc',
      ]);
    }
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.filter((it, index) => names.indexOf(it) !== index)).toEqual([]);
  });

  test('complies with Pod Security "restricted", except for the installer', () => {
    for (const object of rendered()[name] ?? []) {
      const pod = podOf(object);
      if (pod === undefined) continue;
      const isInstaller = object.kind === 'DaemonSet';
      const what = `${object.kind} ${object.metadata.name}`;
      expect([what, pod.automountServiceAccountToken]).toEqual([
        what,
        ['wc-webcapture-controller', 'wc-webcapture-prepare'].includes(object.metadata.name),
      ]);
      expect(pod.securityContext.seccompProfile?.type).toMatch(/RuntimeDefault|Localhost/);
      if (!isInstaller) expect(pod.securityContext.runAsNonRoot).toBe(true);
      expect(JSON.stringify(pod.volumes ?? []).includes('hostPath')).toBe(isInstaller);
      for (const { resources, securityContext } of pod.containers) {
        expect(securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(Object.keys({ ...resources.requests })).toEqual(['cpu', 'memory']);
        expect(resources.limits['memory']).toBeDefined();
      }
    }
  });

  test('has a NetworkPolicy for every pod except that of helm test', () => {
    const objects = rendered()[name] ?? [];
    const components = new Set(
      objects.filter((it) => podOf(it)).map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component']),
    );
    const covered = objects
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component']);
    expect(new Set([...components].filter((it) => it !== 'test'))).toEqual(new Set(covered));
  });

  test('sets an environment that the services accept', () => {
    const objects = rendered()[name] ?? [];
    const readers = { front: readFrontConfig, renderer: readRendererConfig, controller: readControllerConfig };
    for (const object of objects.filter(({ kind }) => kind === 'Deployment')) {
      const component = object.metadata.labels?.['app.kubernetes.io/component'] as keyof typeof readers;
      const env = {
        ...envOf(object),
        WEBCAPTURE_POD: `${object.metadata.name}-5f6b8c9d7-abcde`,
        WEBCAPTURE_NATS_PASSWORD: 'secret',
        // Variables from the kubelet.
        KUBERNETES_SERVICE_HOST: '10.96.0.1',
        KUBERNETES_SERVICE_PORT: '443',
      };
      expect(() => readers[component](env)).not.toThrow();
      const { WEBCAPTURE_REGION: region } = envOf(object);
      expect(readers[component](env).nats.user).toBe(region === undefined ? component : `${component}-${region}`);
    }
  });
});

describe('without values', () => {
  test('the chart has two regions, an embedded NATS and store, and needs only a bare cluster', () => {
    const kinds = [...new Set(defaults.map(({ kind }) => kind))].toSorted();
    expect(kinds).toEqual(
      'ConfigMap Deployment Job NetworkPolicy Pod PodDisruptionBudget Role RoleBinding Service ServiceAccount StatefulSet'.split(
        ' ',
      ),
    );
    expect(defaults.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name)).toEqual([
      'wc-webcapture-controller',
      'wc-webcapture-front',
      'wc-webcapture-renderer-us-east',
      'wc-webcapture-renderer-eu-west',
    ]);
    expect(find(defaults, 'StatefulSet', 'wc-webcapture-nats')['spec']).toMatchObject({
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { resources: { requests: { storage: '20Gi' } } } }],
    });
  });

  test('a front has 768 MiB in addition to the processes that scale pictures and merge documents', () => {
    for (const objects of [defaults, produced]) {
      const limit = podOf(find(objects, 'Deployment', 'wc-webcapture-front'))?.containers[0]?.resources.limits[
        'memory'
      ];
      const [, mebibytes] = /^(\d+)Mi$/.exec(limit ?? '') ?? [];
      // V8 reserves 512 MiB of the address space of a process that merges documents, and does not use them.
      const merging = maxMergeProcesses * (documentScript.maxDataKiB / 1024 - 512);
      expect(Number(mebibytes) - (maxScalings * maxDataKiB) / 1024 - merging).toBeGreaterThanOrEqual(768);
    }
  });

  test('memory follows from the slots, and browsers are replaced before the kernel kills the pod', () => {
    const deployment = find(defaults, 'Deployment', 'wc-webcapture-renderer-us-east');
    expect(podOf(deployment)?.containers[0]?.resources.limits['memory']).toBe('1824Mi');
    const { browserMemoryBytes, slots } = readRendererConfig({
      ...envOf(deployment),
      WEBCAPTURE_POD: 'p',
      WEBCAPTURE_NATS_PASSWORD: 'x',
    });
    expect([slots, browserMemoryBytes / 1024 ** 2]).toEqual([2, 1312]);
  });

  test('pages of other origins may call the API only if values list them', () => {
    const originsIn = (objects: readonly KubeObject[]) => {
      const env = envOf(find(objects, 'Deployment', 'wc-webcapture-front'));
      return readFrontConfig({ ...env, WEBCAPTURE_POD: 'p', WEBCAPTURE_NATS_PASSWORD: 'x' }).corsOrigins;
    };
    expect(originsIn(defaults)).toEqual([]);
    expect(originsIn(all)).toEqual(['https://app.example.com', 'http://localhost:5173']);
  });

  test('the grace period of pods is longer than the services take to drain', () => {
    const front = find(defaults, 'Deployment', 'wc-webcapture-front');
    const config = readFrontConfig({ ...envOf(front), WEBCAPTURE_POD: 'p', WEBCAPTURE_NATS_PASSWORD: 'x' });
    for (const [name, drainMs] of [
      ['front', frontDrainMs(config)],
      ['renderer-us-east', rendererDrainMs],
      ['controller', controllerDrainMs],
    ] as const) {
      const deployment = find(defaults, 'Deployment', `wc-webcapture-${name}`);
      expect(podOf(deployment)?.terminationGracePeriodSeconds).toBeGreaterThan(drainMs / 1000);
    }
  });
});

describe('a bucket', () => {
  const keyFiles = (objects: readonly KubeObject[]) =>
    ['front', 'controller', 'renderer-us-east'].map((name) => {
      const { volumes = [] } = podOf(find(objects, 'Deployment', `wc-webcapture-${name}`)) ?? {};
      const gcs = volumes.find((it): it is { name: string; secret: { secretName: string } } => {
        return (it as { name: string }).name === 'gcs';
      });
      return gcs?.secret.secretName;
    });

  test(
    'has its own key for renderers if one is set',
    async () => {
      const gcs = { bucket: 'captures', existingSecret: 'trusted' };
      const renderer = { sandbox: { mode: 'localhost' } };
      const bucket = (rest: object) => render({ renderer, storage: { type: 'gcs', gcs: { ...gcs, ...rest } } });
      expect(keyFiles(await bucket({}))).toEqual(['trusted', 'trusted', 'trusted']);
      const creator = { existingSecret: 'creator' };
      expect(keyFiles(await bucket({ renderer: creator }))).toEqual(['trusted', 'trusted', 'creator']);
      // Fronts and controllers use Workload Identity.
      const mixed = await bucket({ renderer: creator, existingSecret: '' });
      expect(keyFiles(mixed)).toEqual([undefined, undefined, 'creator']);
      const path = (name: string) =>
        envOf(find(mixed, 'Deployment', `wc-webcapture-${name}`))['GOOGLE_APPLICATION_CREDENTIALS'];
      expect([path('front'), path('renderer-us-east')]).toEqual([
        undefined,
        '/var/run/secrets/webcapture/gcs/key.json',
      ]);
    },
    helmDeadlineMs,
  );

  test('has a service account per service', () => {
    const accounts = produced.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata);
    expect(
      Object.fromEntries(
        accounts.map(({ name, annotations }) => [name, annotations?.['iam.gke.io/gcp-service-account']]),
      ),
    ).toEqual(
      Object.fromEntries(
        ['front', 'renderer', 'controller'].map((it) => [
          `wc-webcapture-${it}`,
          `webcapture-${it}@example-project.iam.gserviceaccount.com`,
        ]),
      ),
    );
  });
});

test(
  'every stream can have a size limit',
  async () => {
    const streams = Object.keys(streamNames) as (keyof typeof streamNames)[];
    const streamMaxBytes = Object.fromEntries(streams.map((name, index) => [name, (index + 1) * 1024 ** 2]));
    const env = envOf(find(await render({ streamMaxBytes }), 'Deployment', 'wc-webcapture-controller'));
    const config = readControllerConfig({
      ...env,
      WEBCAPTURE_KUBERNETES: 'off',
      WEBCAPTURE_POD: 'p',
      WEBCAPTURE_NATS_PASSWORD: 'x',
    });
    expect(config.streams.maxBytes).toEqual(streamMaxBytes);
  },
  helmDeadlineMs,
);

describe('with values for production', () => {
  test('there is no embedded NATS, and files are stored in the bucket', () => {
    expect(produced.filter(({ kind }) => kind === 'StatefulSet')).toEqual([]);
    for (const name of ['front', 'controller', 'renderer-us-east']) {
      expect(envOf(find(produced, 'Deployment', `wc-webcapture-${name}`))).toMatchObject({
        WEBCAPTURE_NATS_URL: 'nats://nats.nats.svc:4222',
        WEBCAPTURE_GCS_BUCKET: 'example-webcapture',
        WEBCAPTURE_REGIONS: name === 'renderer-us-east' ? 'us-east' : 'us-east:2,eu-west:2',
      });
    }
    expect(produced.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  test('an autoscaler sets the number of replicas instead of the Deployment', () => {
    for (const name of ['front', 'renderer-us-east', 'renderer-eu-west']) {
      expect(find(produced, 'Deployment', `wc-webcapture-${name}`)['spec']).not.toHaveProperty('replicas');
    }
    const scaled = find(produced, 'ScaledObject', 'wc-webcapture-renderer-eu-west')['spec'] as {
      maxReplicaCount: number;
      triggers: { metadata: object }[];
    };
    expect(scaled.maxReplicaCount).toBe(40);
    expect(scaled.triggers[0]?.metadata).toMatchObject({
      url: 'http://wc-webcapture-controller.ns.svc:9092/scale/eu-west',
      targetValue: '0.75',
    });
  });

  test('each region runs on its own nodes, with the sandbox on', () => {
    const pod = podOf(find(produced, 'Deployment', 'wc-webcapture-renderer-eu-west'));
    expect(pod?.nodeSelector).toEqual({ 'topology.kubernetes.io/region': 'europe-west1' });
    expect(pod?.securityContext.seccompProfile).toEqual({
      type: 'Localhost',
      localhostProfile: 'webcapture/chromium.json',
    });
    expect(pod?.containers[0]?.resources.requests).toEqual({ cpu: '4000m', memory: '2624Mi' });
  });

  test('the ServiceMonitor selects the operations port of every service, and keeps the labels of the metrics', () => {
    const { selector, endpoints } = find(produced, 'ServiceMonitor', 'wc-webcapture')['spec'] as {
      selector: { matchLabels: Record<string, string> };
      endpoints: { port: string; path: string; honorLabels: boolean }[];
    };
    const has = (labels: Readonly<Record<string, string>> | undefined, wanted: Record<string, string>) =>
      Object.entries(wanted).every(([name, value]) => labels?.[name] === value);
    const services = produced.filter(
      ({ kind, metadata }) => kind === 'Service' && has(metadata.labels, selector.matchLabels),
    );
    const { ports, selector: pods } = find(produced, 'Service', 'wc-webcapture-metrics')['spec'] as {
      ports: { name: string; targetPort: string }[];
      selector: Record<string, string>;
    };
    expect(services.map(({ metadata }) => metadata.name)).toEqual(['wc-webcapture-metrics']);
    expect(endpoints).toEqual([{ port: 'ops', path: '/metrics', interval: '15s', honorLabels: true }]);
    expect(ports).toMatchObject([{ name: 'ops', targetPort: 'ops' }]);
    for (const deployment of produced.filter(({ kind }) => kind === 'Deployment')) {
      expect(has(deployment['spec'].template.metadata.labels as Record<string, string>, pods)).toBe(true);
      expect(podOf(deployment)?.containers[0]).toMatchObject({
        ports: expect.arrayContaining([expect.objectContaining({ name: 'ops' })]) as unknown,
      });
    }
  });
});

test(
  'a sandbox set to off without quotes is off',
  async () => {
    const objects = await render({ renderer: { sandbox: { mode: false } } });
    expect(envOf(find(objects, 'Deployment', 'wc-webcapture-renderer-us-east'))['WEBCAPTURE_CHROMIUM_SANDBOX']).toBe(
      'off',
    );
  },
  helmDeadlineMs,
);

test.each<[object, RegExp]>([
  [{ regoins: [] }, /regoins/],
  [{ regions: [{ name: 'mars' }] }, /regions[./]0[./]name/],
  [{ regions: [] }, /regions/],
  [{ regions: [{ name: 'us-east' }, { name: 'us-east' }] }, /us-east is there twice/],
  [{ nats: { enabled: false } }, /nats\.url: name your NATS/],
  [{ nats: { enabled: false, url: 'nats://n:4222' } }, /nats\.existingSecret: your NATS needs users/],
  [{ nats: { url: 'nats://n:4222' } }, /set nats\.enabled to false/],
  [{ streamReplicas: 3 }, /the embedded NATS is one server/],
  [{ nats: { image: { tag: '2.15.0-scratch' } } }, /nats\.image\.tag: must be an alpine variant/],
  [{ streamReplicas: 2 }, /streamReplicas/],
  [{ storage: { type: 'gcs' } }, /storage\.gcs\.bucket: name the bucket/],
  [{ storage: { type: 's3' } }, /storage[./]type/],
  [{ homeRegion: 'asia-east' }, /homeRegion: asia-east is not one of/],
  [{ ingress: { enabled: true } }, /ingress\.hosts/],
  [{ renderer: { sandbox: { mode: 'on' } } }, /sandbox[./]mode/],
  [{ renderer: { sandbox: { installer: { enabled: true } } } }, /localhost only/],
  [
    { storage: { type: 'gcs', gcs: { bucket: 'captures' } } },
    /acceptUnsandboxedBrowser to true: .*rights of a renderer/,
  ],
  [
    { front: { queueTimeout: 91 }, ingress: { enabled: true, hosts: ['a.example'] } },
    /front\.queueTimeout: must be at most 90/,
  ],
  [{ nats: { persistence: { size: '20 GB' } } }, /persistence[./]size/],
  [{ global: { imageRegistry: 'https://registry' } }, /global[./]imageRegistry/],
  [{ egress: { allow: ['10.0.0.0'] } }, /egress[./]allow/],
  [{ auth: { apiKey: 'short' } }, /auth[./]apiKey/],
  [{ front: { replicas: '2' } }, /front[./]replicas/],
  [{ front: { corsOrigins: ['https://app.example.com/'] } }, /front[./]corsOrigins/],
  [{ storage: { gcs: { renderer: { secret: 'x' } } } }, /gcs[./]renderer/],
  [{ streamMaxBytes: { result: 1048576 } }, /streamMaxBytes/],
])(
  'refuses %j',
  async (values, message) => {
    await expect(render(values)).rejects.toThrow(message);
  },
  helmDeadlineMs,
);
