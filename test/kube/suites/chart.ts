import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { chartFolder, helmDeadlineMs, render, templatesUsed, type KubeObject } from '../../harness/helm.ts';
import type { KubeApi } from '../../harness/kube-api.ts';
import { until } from '../../harness/until.ts';
import { sharedPlane } from '../support/shared-plane.ts';

/** What is rendered: files of the chart, each on top of the one before. And what Pod Security does not let pass of it. */
const cases: readonly { readonly name: string; readonly files: readonly string[]; readonly refused?: string }[] = [
  { name: 'no values', files: [] },
  { name: 'examples/production.yaml', files: ['examples/production.yaml'] },
  { name: 'everything at once', files: ['examples/production.yaml', 'ci/everything-values.yaml'] },
  { name: 'examples/gke/hub.yaml', files: ['examples/gke/hub.yaml'] },
  { name: 'ci/volume-values.yaml', files: ['ci/volume-values.yaml'], refused: 'seccompProfile' },
];

/** The namespace that all of it is rendered for, where Pod Security is `restricted`. */
const namespace = 'ns';

describe('the chart', () => {
  let api: KubeApi;
  beforeAll(async () => {
    const plane = await sharedPlane();
    api = plane.api();
    await Promise.all([addOperatorCrds(api), addNamespace(api)]);
  }, helmDeadlineMs);

  test('each template is rendered by one of these cases', async () => {
    const sources = await Promise.all(cases.map(({ files }) => templatesUsed({}, valuesArgs(files))));
    const templates = (await readdir(join(chartFolder, 'templates'), { recursive: true }))
      .filter((name) => name.endsWith('.yaml'))
      .filter((name) => !name.endsWith('requirements.yaml'));
    expect(templates.filter((name) => !sources.flat().includes(name))).toEqual([]);
  });

  test.each(cases)('with $name is what the API server takes, and warns of nothing', async ({ files, refused }) => {
    // No registry has the CRDs of GKE's policies; test/integration/chart/gke.test.ts looks at their fields.
    const objects = (await render({}, valuesArgs(files))).filter(
      (it) => !it.apiVersion.startsWith('networking.gke.io/'),
    );
    const complaints = await Promise.all(objects.map((object) => tryOut(api, object)));
    expect(complaints.flat()).toEqual(refused === undefined ? [] : [expect.stringContaining(refused)]);
  });

  test('what is wrong is found', async () => {
    const [deployment] = (await render()).filter(({ kind }) => kind === 'Deployment');
    const wrong = structuredClone(deployment) as KubeObject & { spec: { replica: number } };
    wrong.spec.replica = 1;
    expect(await tryOut(api, wrong)).toEqual([expect.stringContaining('unknown field "spec.replica"')]);
  });
});

const valuesArgs = (files: readonly string[]) => files.flatMap((file) => ['--values', join(chartFolder, file)]);

/** What the API server would say to an object: an error, and warnings, such as those about Pod Security. */
async function tryOut(api: KubeApi, object: KubeObject): Promise<string[]> {
  const path = await pathOf(api, object);
  const answer = await api.raw<{ message: string }>('POST', `${path}?dryRun=All&fieldValidation=Strict`, object);
  const what = `${object.kind} ${object.metadata.name}`;
  // The only one that writes to a node: it needs a namespace that lets it.
  const warnings = object.kind === 'DaemonSet' ? [] : answer.warnings;
  return [...(answer.status >= 300 ? [answer.body.message] : []), ...warnings].map((said) => `${what}: ${said}`);
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}
const resources = new Map<string, Promise<readonly Resource[]>>();

/** Where objects of this kind are made, as the API server tells. */
async function pathOf(api: KubeApi, { apiVersion, kind }: KubeObject): Promise<string> {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  if (!resources.has(base))
    resources.set(
      base,
      api.do<{ resources: Resource[] }>('GET', base).then((it) => it.resources),
    );
  const found = (await resources.get(base))?.find((it) => it.kind === kind && !it.name.includes('/'));
  if (found === undefined) throw new Error(`the API server knows no ${kind} in ${apiVersion}`);
  return found.namespaced ? `${base}/namespaces/${namespace}/${found.name}` : `${base}/${found.name}`;
}

async function addNamespace(api: KubeApi): Promise<void> {
  const labels = {
    'pod-security.kubernetes.io/enforce': 'restricted',
    'pod-security.kubernetes.io/warn': 'restricted',
  };
  await api.do('POST', '/api/v1/namespaces', { metadata: { name: namespace, labels } });
}

/** Those of the operators whose objects the chart can make. */
async function addOperatorCrds(api: KubeApi): Promise<void> {
  const { path } = await ensureTool('operator-crds', { log: (line) => process.stdout.write(`${line}\n`) });
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const addOne = async (file: string) => {
    const crd = parse(await readFile(join(path, file), 'utf8')) as KubeObject;
    await api.do('POST', crds, crd);
    const { group, names, versions } = crd['spec'] as {
      readonly group: string;
      readonly names: { readonly plural: string };
      readonly versions: readonly { readonly name: string; readonly served: boolean }[];
    };
    for (const { name } of versions.filter(({ served }) => served)) {
      const isServed = async () => {
        const list = await api.do<{ resources: Resource[] }>('GET', `/apis/${group}/${name}`);
        return list.resources.some((it) => it.name === names.plural);
      };
      // It is established before it is told of.
      await until(`${names.plural} of ${group}/${name} to be served`, isServed, { intervalMs: 100 });
    }
  };
  await Promise.all((await readdir(path)).map(addOne));
}
