import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import {
  chartFolder,
  chartValues,
  helmDeadlineMs,
  render,
  templatesUsed,
  type KubeObject,
} from '../../harness/helm.ts';
import type { KubeApi } from '../../harness/kube-api.ts';
import { until } from '../../harness/until.ts';
import { sharedPlane } from '../support/shared-plane.ts';

const inChart = (file: string) => join(chartFolder, file);

/** The files with values of each case, and the text with which Pod Security refuses an object. */
const cases: readonly { readonly name: string; readonly files: readonly string[]; readonly refused?: string }[] = [
  { name: 'no values', files: [] },
  { name: 'ci/trial-values.yaml', files: [inChart('ci/trial-values.yaml')] },
  { name: 'ci/settings-values.yaml', files: [inChart('ci/settings-values.yaml')] },
  { name: 'examples/production.yaml', files: [inChart('examples/production.yaml')] },
  { name: 'everything at once', files: [inChart('examples/production.yaml'), chartValues('everything')] },
  { name: 'examples/gke/hub.yaml', files: [inChart('examples/gke/hub.yaml')] },
  { name: 'an embedded NATS with a volume', files: [chartValues('volume')], refused: 'seccompProfile' },
];

/** The namespace of the rendered objects, where Pod Security is `restricted`. */
const namespace = 'ns';

describe('the chart', () => {
  let api: KubeApi;
  beforeAll(async () => {
    const plane = await sharedPlane();
    api = plane.api();
    await Promise.all([addOperatorCrds(api), addNamespace(api)]);
  }, helmDeadlineMs);

  test('each template is rendered by at least one of these cases', async () => {
    const sources = await Promise.all(cases.map(({ files }) => templatesUsed({}, valuesArgs(files))));
    const templates = (await readdir(join(chartFolder, 'templates'), { recursive: true }))
      .filter((name) => name.endsWith('.yaml'))
      .filter((name) => !name.endsWith('requirements.yaml'));
    expect(templates.filter((name) => !sources.flat().includes(name))).toEqual([]);
  });

  test.each(cases)('the API server accepts the objects of $name without a warning', async ({ files, refused }) => {
    // No registry has the CRDs of GKE; test/integration/chart/gke.test.ts checks the fields of their objects.
    const objects = (await render({}, valuesArgs(files))).filter(
      (it) => !/^(?:networking\.gke\.io|monitoring\.googleapis\.com)\//.test(it.apiVersion),
    );
    const complaints = await Promise.all(objects.map((object) => tryOut(api, object)));
    expect(complaints.flat()).toEqual(refused === undefined ? [] : [expect.stringContaining(refused)]);
  });

  test('an object with an unknown field is refused', async () => {
    const [deployment] = (await render()).filter(({ kind }) => kind === 'Deployment');
    const wrong = structuredClone(deployment) as KubeObject & { spec: { replica: number } };
    wrong.spec.replica = 1;
    expect(await tryOut(api, wrong)).toEqual([expect.stringContaining('unknown field "spec.replica"')]);
  });
});

const valuesArgs = (files: readonly string[]) => files.flatMap((file) => ['--values', file]);

/** Creates an object with dryRun. Returns the error and the warnings of the API server, such as those about Pod Security. */
async function tryOut(api: KubeApi, object: KubeObject): Promise<string[]> {
  const path = await pathOf(api, object);
  const answer = await api.raw<{ message: string }>('POST', `${path}?dryRun=All&fieldValidation=Strict`, object);
  const what = `${object.kind} ${object.metadata.name}`;
  // The DaemonSet is the only object that writes to a node. It needs a namespace that allows this.
  const warnings = object.kind === 'DaemonSet' ? [] : answer.warnings;
  return [...(answer.status >= 300 ? [answer.body.message] : []), ...warnings].map((said) => `${what}: ${said}`);
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}
const resources = new Map<string, Promise<readonly Resource[]>>();

/** Returns the path of objects of this kind, which the API server lists. */
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

/** Adds the CRDs of the operators whose objects the chart can contain. */
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
      // A CRD is established before discovery lists it.
      await until(`${names.plural} of ${group}/${name} to be served`, isServed, { intervalMs: 100 });
    }
  };
  await Promise.all((await readdir(path)).map(addOne));
}
