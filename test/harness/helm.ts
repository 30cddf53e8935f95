import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import process from 'node:process';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { once } from './once.ts';

export const chartFolder = fileURLToPath(new URL('../../charts/webcapture/', import.meta.url));

/** Building helm takes more than a minute, where it cannot be downloaded; other tests run meanwhile. */
export const helmDeadlineMs = 15 * 60_000;

/** A Kubernetes object as far as these tests look. */
export interface KubeObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // Each kind has another shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [field: string]: any;
}

const program = once(async () => (await ensureTool('helm', { log: (line) => process.stdout.write(`${line}\n`) })).path);

/** Runs helm, which is found or got at the first call; rejects with what it complains of. */
export async function helm(args: readonly string[]): Promise<string> {
  // It ends before collecting its garbage could pay, which is a third of its work otherwise.
  const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '512MiB' };
  const run = promisify(execFile)(await program(), args, { env, maxBuffer: 64 * 1024 * 1024, timeout: 60_000 });
  return run.then(
    ({ stdout }) => stdout,
    (error: unknown) => {
      throw new Error((error as { stderr?: string }).stderr?.trim() || String(error));
    },
  );
}

/** What the chart must be told in any case: it pulls no image from a registry that nobody named. */
export const imageArgs = ['--set', 'image.registry=registry.test'];

interface Rendering {
  readonly objects: readonly KubeObject[];
  /** The templates that made something of the values, as paths below `templates`. */
  readonly templates: readonly string[];
}

/** Of the chart as it lies here, by values and arguments: the files of tests that a worker runs ask for many of them again. */
const renderings = new Map<string, Promise<Rendering>>();

function renderingOf(values: object, args: readonly string[]): Promise<Rendering> {
  const key = JSON.stringify([values, args]);
  const known = renderings.get(key);
  if (known !== undefined) return known;
  const rendering = renderAnew(values, args, chartFolder);
  renderings.set(key, rendering);
  // What was refused, or broke off, is tried again for the next one.
  rendering.catch(() => renderings.delete(key));
  return rendering;
}

/** What the chart makes of values, hooks among it; nobody can change it. `args` are further arguments of `helm template`. */
export const render = async (values: object = {}, args: readonly string[] = []): Promise<readonly KubeObject[]> =>
  (await renderingOf(values, args)).objects;

/** The templates of the chart that make something of values. */
export const templatesUsed = async (values: object = {}, args: readonly string[] = []): Promise<readonly string[]> =>
  (await renderingOf(values, args)).templates;

/** Runs helm even where the same was rendered before; `chart` may be a changed copy of the chart. */
export async function renderAnew(
  values: object,
  args: readonly string[] = [],
  chart = chartFolder,
): Promise<Rendering> {
  const file = join(await mkdtemp(join(inject('tempFolder'), 'values-')), 'values.json');
  await writeFile(file, JSON.stringify(values));
  const text = await helm([
    'template',
    'wc',
    chart,
    '--namespace',
    'ns',
    '--kube-version',
    '1.33.0',
    ...imageArgs,
    '--values',
    file,
    ...args,
  ]);
  const objects = parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as KubeObject | null;
    return object === null ? [] : [deepFrozen(object)];
  });
  const sources = text.matchAll(/^# Source: webcapture\/templates\/(.*)$/gm);
  return { objects, templates: [...new Set(Array.from(sources, ([, name = '']) => name))] };
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) deepFrozen(each);
  return Object.freeze(value);
}

/** What the Job does before an installation or upgrade. */
export interface Plan {
  readonly secrets: readonly { readonly name: string; readonly keys: readonly string[] }[];
  readonly statefulSet: {
    readonly name: string;
    readonly volume: { readonly size: string; readonly storageClassName: string | null } | null;
  } | null;
}

export const planOf = (objects: readonly KubeObject[]): Plan =>
  JSON.parse(envOf(find(objects, 'Job', 'wc-webcapture-prepare'))['PLAN'] ?? '') as Plan;

/** The pod that an object is, or makes. */
export function podOf(object: KubeObject): Pod | undefined {
  if (object.kind === 'Pod') return object['spec'] as Pod;
  return (object['spec'] as { template?: { spec?: Pod } } | undefined)?.template?.spec;
}

export interface Pod {
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: {
    readonly runAsNonRoot?: boolean;
    readonly seccompProfile?: { readonly type: string; readonly localhostProfile?: string };
  };
  readonly runtimeClassName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly initContainers?: readonly { readonly command?: readonly string[] }[];
  readonly containers: readonly {
    readonly name: string;
    readonly image: string;
    readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
    readonly resources: {
      readonly requests: Readonly<Record<string, string>>;
      readonly limits: Readonly<Record<string, string>>;
    };
    readonly securityContext: {
      readonly runAsUser?: number;
      readonly allowPrivilegeEscalation: boolean;
      readonly readOnlyRootFilesystem: boolean;
      readonly capabilities: { readonly drop: readonly string[] };
    };
  }[];
  readonly volumes?: readonly object[];
}

export const find = (objects: readonly KubeObject[], kind: string, name: string): KubeObject => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined)
    throw new Error(
      `there is no ${kind} ${name} among ${objects.map((it) => `${it.kind} ${it.metadata.name}`).join(', ')}`,
    );
  return found;
};

/** The variables of the first container of an object's pod. */
export const envOf = (object: KubeObject): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries((podOf(object)?.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
