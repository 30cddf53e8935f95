// @module-tag long
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import {
  chartFolder,
  envOf,
  find,
  helmDeadlineMs,
  planOf,
  podOf,
  render,
  renderAnew,
  type KubeObject,
} from '../../harness/helm.ts';

const pinned = {
  image: { tag: '1' },
  renderer: { image: { tag: '1' }, sandbox: { mode: 'localhost', installer: { enabled: true } } },
};
const templateOf = (object: KubeObject) => (object['spec'] as { template?: object }).template;
const workloads = (objects: readonly KubeObject[]) =>
  objects.filter(({ kind }) => ['Deployment', 'StatefulSet', 'DaemonSet'].includes(kind));
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

let before: readonly KubeObject[];
beforeAll(async () => {
  before = await render(pinned);
}, helmDeadlineMs);

test(
  'another version of the chart changes no pod template, so that an upgrade restarts only what changed',
  async () => {
    const folder = join(await mkdtemp(join(inject('tempFolder'), 'chart-')), 'webcapture');
    await cp(chartFolder, folder, { recursive: true });
    const chart = await readFile(join(folder, 'Chart.yaml'), 'utf8');
    const next = chart.replace(/^(version|appVersion): .*$/gm, '$1: 9.9.9');
    await writeFile(join(folder, 'Chart.yaml'), next);
    const { objects: after } = await renderAnew({ ...pinned, commonLabels: { team: 'other' } }, [], folder);
    expect(workloads(after).map(({ metadata }) => metadata.labels?.['helm.sh/chart'])).toContain('webcapture-9.9.9');
    expect(workloads(after).map(templateOf)).toEqual(workloads(before).map(templateOf));
    // Kubernetes refuses to change these fields.
    const claims = (objects: readonly KubeObject[]) =>
      (find(objects, 'StatefulSet', 'wc-webcapture-nats')['spec'] as { volumeClaimTemplates: object })
        .volumeClaimTemplates;
    expect(claims(after)).toEqual(claims(before));
  },
  helmDeadlineMs,
);

test(
  'the same values make the same objects without a cluster, and no secret',
  async () => {
    expect((await renderAnew(pinned)).objects).toEqual(before);
    expect(before.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  },
  helmDeadlineMs,
);

test('no template looks up cluster state or generates values', async () => {
  const templates = before.map((object) => JSON.stringify(object)).join('');
  expect(templates).not.toContain('lookup');
  for (const name of ['prepare/job.yaml', 'prepare/_plan.tpl', 'front/deployment.yaml', 'nats/statefulset.yaml']) {
    const source = await readFile(join(chartFolder, 'templates', name), 'utf8');
    expect(source).not.toMatch(/\blookup\b|\brand[A-Z]|\bgen[A-Z]|\bnow\b/);
  }
});

describe('the Job before an installation', () => {
  test('has only the permissions that it needs, and is removed afterwards with all of them', () => {
    const { rules } = find(before, 'Role', 'wc-webcapture-prepare') as unknown as { rules: object };
    expect(rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['wc-webcapture-auth', 'wc-webcapture-nats-auth'],
        verbs: ['get', 'patch'],
      },
      { apiGroups: ['apps'], resources: ['statefulsets'], resourceNames: ['wc-webcapture-nats'], verbs: ['get'] },
    ]);
    const own = before.filter(({ metadata }) => metadata.name === 'wc-webcapture-prepare');
    expect(own.map(({ kind }) => kind).toSorted()).toEqual([
      'ConfigMap',
      'Job',
      'NetworkPolicy',
      'Role',
      'RoleBinding',
      'ServiceAccount',
    ]);
    for (const { metadata } of own) {
      expect(metadata.annotations).toMatchObject({
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
      });
    }
  });

  test(
    'creates only secrets that the operator does not set, and is absent if nothing is to be done',
    async () => {
      const auth = { existingSecret: 'mine' };
      expect(
        planOf(await render({ auth, nats: { existingSecret: 'mine', persistence: { enabled: false } } })),
      ).toMatchObject({ secrets: [], statefulSet: { name: 'wc-webcapture-nats', volume: null } });
      const none = await render({ auth, nats: { enabled: false, url: 'nats://n:4222', existingSecret: 'mine' } });
      expect(none.filter(({ metadata }) => metadata.name === 'wc-webcapture-prepare')).toEqual([]);
    },
    helmDeadlineMs,
  );
});

describe('the limits of the embedded NATS follow from its volume', () => {
  const limitsOf = (objects: readonly KubeObject[]) => {
    const config = find(objects, 'ConfigMap', 'wc-webcapture-nats') as unknown as { data: { 'nats.conf': string } };
    const env = envOf(find(objects, 'Deployment', 'wc-webcapture-controller'));
    return {
      store: Number(/max_file_store: (\d+)/.exec(config.data['nats.conf'])?.[1]),
      files: Number(env['WEBCAPTURE_FILES_MAX_BYTES']),
      db: Number(env['WEBCAPTURE_DB_MAX_BYTES']),
      goMemory: Number(envOf(find(objects, 'StatefulSet', 'wc-webcapture-nats'))['GOMEMLIMIT']),
    };
  };

  test('by default files get half, records as much as memory allows, and the other streams the rest', () => {
    expect(limitsOf(before)).toEqual({
      store: 16 * gibibyte,
      files: 10 * gibibyte,
      db: 2 * gibibyte,
      goMemory: Math.floor(gibibyte * 0.8),
    });
  });

  test.each([
    [
      { nats: { persistence: { size: '1Ti' }, resources: { limits: { memory: '64G' } } } },
      { store: 0.8 * 1024 * gibibyte, files: 512 * gibibyte, db: 2 * 64e9, goMemory: 51.2e9 },
    ],
    [
      { nats: { persistence: { enabled: false }, emptyDirSizeLimit: '500Mi' } },
      { store: 400 * mebibyte, files: 250 * mebibyte, db: 100 * mebibyte, goMemory: 0.8 * gibibyte },
    ],
    [
      { nats: { persistence: { size: '1.5Gi' } }, streamMaxBytes: { files: 1048576 } },
      { store: 1.2 * gibibyte, files: mebibyte, db: 0.3 * gibibyte, goMemory: 0.8 * gibibyte },
    ],
    [
      {
        storage: { type: 'gcs', gcs: { bucket: 'captures' } },
        renderer: { runtimeClassName: 'gvisor' },
        nats: { persistence: { size: '1Gi' } },
      },
      { store: 0.8 * gibibyte, files: 0.1 * gibibyte, db: 0.5 * gibibyte, goMemory: 0.8 * gibibyte },
    ],
  ])(
    'with %j',
    async (values, wanted) => {
      const limits = limitsOf(await render(values));
      for (const [name, bytes] of Object.entries(wanted)) {
        expect([name, limits[name as keyof typeof limits]]).toEqual([name, Math.floor(bytes)]);
      }
      expect(limits.files + limits.db + 320 * mebibyte * Number(limits.store > gibibyte)).toBeLessThan(limits.store);
    },
    helmDeadlineMs,
  );
});

test('an emptyDir volume is used only if set explicitly', async () => {
  const values = parse(await readFile(join(chartFolder, 'values.yaml'), 'utf8')) as {
    nats: { persistence: { enabled: boolean } };
  };
  expect(values.nats.persistence.enabled).toBe(true);
  expect(JSON.stringify(podOf(find(before, 'StatefulSet', 'wc-webcapture-nats'))?.volumes)).not.toContain('"data"');
});

test.each([
  ['argocd-application.yaml', ({ source }: Manifest) => source?.helm.valuesObject],
  ['flux-helmrelease.yaml', ({ values }: Manifest) => values],
])(
  'the values of examples/%s render an installation',
  async (name, valuesOf) => {
    const text = await readFile(join(chartFolder, 'examples', name), 'utf8');
    const manifest = parseAllDocuments(text).at(-1)?.toJS() as { spec: Manifest };
    const values = valuesOf(manifest.spec);
    if (values === undefined) throw new Error('the manifest has no values');
    const made = await render(values);
    expect(imagesOf(made)).toContain(`registry.test/webcapture/front:${version}`);
    expect(planOf(made).statefulSet?.volume).toEqual({ size: '50Gi', storageClassName: 'standard' });
  },
  helmDeadlineMs,
);

interface Manifest {
  readonly source?: { readonly helm: { readonly valuesObject: object } };
  readonly values?: object;
}

const imagesOf = (objects: readonly KubeObject[]) =>
  objects.flatMap((object) => podOf(object)?.containers ?? []).map(({ image }) => image);
