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

/** Values of tests that need operators, Secrets or another cluster, so they do not belong in the chart's `ci` folder. */
export const chartValues = (name: string): string =>
  fileURLToPath(new URL(`chart-values/${name}.yaml`, import.meta.url));

/** Time limit of the set-up. Building helm takes more than a minute if it cannot be downloaded. Other tests run meanwhile. */
export const helmDeadlineMs = 15 * 60_000;

/** The fields of a Kubernetes object that these tests read. */
export interface KubeObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // Each kind has a different shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [field: string]: any;
}

const program = once(async () => (await ensureTool('helm', { log: (line) => process.stdout.write(`${line}\n`) })).path);

/** Runs helm, which is found or installed at the first call; rejects with its error output. */
export async function helm(args: readonly string[]): Promise<string> {
  // Garbage collection is off, because it takes a third of the time, and the process ends before collecting saves any.
  const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '512MiB' };
  const run = promisify(execFile)(await program(), args, { env, maxBuffer: 64 * 1024 * 1024, timeout: 60_000 });
  return run.then(
    ({ stdout }) => stdout,
    (error: unknown) => {
      throw new Error((error as { stderr?: string }).stderr?.trim() || String(error));
    },
  );
}

/** Values that the chart requires: it has no default registry. */
export const imageArgs = ['--set', 'image.registry=registry.test'];

/** Runs `helm template` for a namespace of a supported Kubernetes, and returns its output. */
export const template = (release: string, args: readonly string[] = [], chart = chartFolder): Promise<string> =>
  helm(['template', release, chart, '--namespace', 'ns', '--kube-version', '1.33.0', ...args]);

export const objectsOf = (manifests: string): readonly KubeObject[] =>
  parseAllDocuments(manifests).flatMap((document) => (document.toJS() as KubeObject | null) ?? []);

interface Rendering {
  readonly objects: readonly KubeObject[];
  /** Templates that render to something with the values, as paths below `templates`. */
  readonly templates: readonly string[];
}

/** Renderings of the chart by values and arguments: the test files of a worker repeat many of them. */
const renderings = new Map<string, Promise<Rendering>>();

function renderingOf(values: object, args: readonly string[]): Promise<Rendering> {
  const key = JSON.stringify([values, args]);
  const known = renderings.get(key);
  if (known !== undefined) return known;
  const rendering = renderAnew(values, args, chartFolder);
  renderings.set(key, rendering);
  // A call that was refused or failed is retried for the next test.
  rendering.catch(() => renderings.delete(key));
  return rendering;
}

/** Renders the chart, including hooks; the result is frozen. `args` are further arguments of `helm template`. */
export const render = async (values: object = {}, args: readonly string[] = []): Promise<readonly KubeObject[]> =>
  (await renderingOf(values, args)).objects;

/** Returns those templates of the chart that render to an object with the values. */
export const templatesUsed = async (values: object = {}, args: readonly string[] = []): Promise<readonly string[]> =>
  (await renderingOf(values, args)).templates;

/** Runs helm even if the same was rendered before; `chart` may be a changed copy of the chart. */
export async function renderAnew(
  values: object,
  args: readonly string[] = [],
  chart = chartFolder,
): Promise<Rendering> {
  const file = join(await mkdtemp(join(inject('tempFolder'), 'values-')), 'values.json');
  await writeFile(file, JSON.stringify(values));
  const text = await template('wc', [...imageArgs, '--values', file, ...args], chart);
  const sources = text.matchAll(/^# Source: webcapture\/templates\/(.*)$/gm);
  return {
    objects: objectsOf(text).map(deepFrozen),
    templates: [...new Set(Array.from(sources, ([, name = '']) => name))],
  };
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) deepFrozen(each);
  return Object.freeze(value);
}

/** The work of the Job that runs before an installation or upgrade. */
export interface Plan {
  readonly secrets: readonly { readonly name: string; readonly keys: readonly string[] }[];
  readonly statefulSet: {
    readonly name: string;
    readonly volume: { readonly size: string; readonly storageClassName: string | null } | null;
  } | null;
}

export const planOf = (objects: readonly KubeObject[]): Plan =>
  JSON.parse(envOf(find(objects, 'Job', 'wc-webcapture-prepare'))['PLAN'] ?? '') as Plan;

/** Returns the pod that an object is, or creates. */
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

/** Returns the variables of the first container of an object's pod. */
export const envOf = (object: KubeObject): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries((podOf(object)?.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
