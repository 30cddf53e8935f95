// @module-tag long
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { Ajv, type ValidateFunction } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { helmDeadlineMs, render } from '../../harness/helm.ts';
import { checkPage } from './support/check-page.ts';
import { groupOfVersion, isCoreGroup, type Manifest, type Release } from './support/cluster.ts';

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

/** The schema of a CRD as JSON Schema that refuses unknown fields, as the API server does with strict validation. */
function strict(schema: Schema, isRoot = true): object {
  if (schema['x-kubernetes-int-or-string'] === true) return { type: ['integer', 'string'] };
  const { properties, items, additionalProperties, ...rest } = schema;
  return {
    ...rest,
    ...(items && { items: strict(items, false) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: strict(additionalProperties, false) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, strict(each, false)])),
      ...(isRoot ? {} : { additionalProperties: false }),
    }),
  };
}

const validators = new Map<string, ValidateFunction>();
let releases: readonly Release[];
let applied: readonly Manifest[];

beforeAll(async () => {
  const { path } = await ensureTool('operator-crds', { log: (line) => process.stdout.write(`${line}\n`) });
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const file of await readdir(path)) {
    const { spec } = parse(await readFile(join(path, file), 'utf8')) as Crd;
    // The page does not install the Prometheus Operator. Its CRDs have patterns that only Go can read.
    if (spec.group === 'monitoring.coreos.com') continue;
    for (const { name, schema } of spec.versions)
      validators.set(`${spec.group}/${name} ${spec.names.kind}`, ajv.compile(strict(schema.openAPIV3Schema)));
  }
  ({ releases, applied } = await checkPage(await readFile(new URL('../../../docs/gke.md', import.meta.url), 'utf8')));
}, helmDeadlineMs);

const errorsOf = (object: Manifest): string[] => {
  const validate = validators.get(`${object.apiVersion} ${object.kind}`);
  if (validate?.(object as unknown) !== false) return [];
  return (validate.errors ?? []).map(
    (it) => `${object.kind} ${it.instancePath} ${it.message} ${JSON.stringify(it.params)}`,
  );
};

describe('each release that docs/gke.md installs or upgrades', () => {
  test('renders to objects whose API groups the cluster has at that line, valid by their CRDs', async () => {
    const validated = new Set<string>();
    for (const { line, values, groups } of releases) {
      const objects = await render(values);
      const unknown = objects
        .map(({ apiVersion, kind }) => ({ group: groupOfVersion(apiVersion), kind }))
        // The chart has the CRD of RenderRegions.
        .filter(
          ({ group }) => group !== '' && group !== 'webcapture.dev' && !isCoreGroup(group) && !groups.includes(group),
        );
      expect({ line, unknown }).toEqual({ line, unknown: [] });
      expect({ line, errors: objects.flatMap(errorsOf) }).toEqual({ line, errors: [] });
      for (const { kind, apiVersion } of objects) if (validators.has(`${apiVersion} ${kind}`)) validated.add(kind);
      expect(objects.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['HTTPRoute', 'PodMonitoring', 'Rules']));
    }
    expect([...validated].toSorted()).toEqual(['HTTPRoute', 'ScaledObject']);
  });
});

test('the only manifest that the page applies itself is a Gateway for its domain', () => {
  expect(applied.map(({ kind }) => kind)).toEqual(['Gateway']);
  expect(JSON.stringify(applied)).toContain('"hostname":"shots.acme.test"');
});

test('an object with a field that its CRD does not have is refused', async () => {
  const route = (await render(releases[0]?.values)).find(({ kind }) => kind === 'HTTPRoute');
  const wrong = { ...route, spec: { ...route?.['spec'], hostname: 'one' } } as unknown as Manifest;
  expect(errorsOf(wrong)).toEqual([expect.stringContaining('hostname')]);
});
