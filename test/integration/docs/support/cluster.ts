import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { parseCommand, type Project } from './project.ts';
import type { Call } from './run-page.ts';
import { checkValues, mergeValues, type Values } from './values.ts';

/** The groups of the kinds that pages list, by their plural names. */
const groupOf: Readonly<Record<string, string>> = {
  httproute: 'gateway.networking.k8s.io',
  healthcheckpolicy: 'networking.gke.io',
  gcpbackendpolicy: 'networking.gke.io',
  scaledobject: 'keda.sh',
  podmonitoring: 'monitoring.googleapis.com',
  rules: 'monitoring.googleapis.com',
  endpointslices: 'discovery.k8s.io',
};

/** Groups that each cluster of GKE has. */
const coreGroups = /^(?:apps|batch|autoscaling|policy|[a-z.]+\.k8s\.io)$/;
export const isCoreGroup = (group: string): boolean => coreGroups.test(group) && group !== 'gateway.networking.k8s.io';

/** Charts of other projects: their repositories, and the API groups whose CRDs they install. */
const charts: Readonly<Record<string, { readonly url: string; readonly groups: readonly string[] }>> = {
  kedacore: { url: 'https://kedacore.github.io/charts', groups: ['keda.sh'] },
  nats: { url: 'https://nats-io.github.io/k8s/helm/charts/', groups: [] },
};
/** Manifests of other projects that pages apply by their addresses. */
const manifests: Readonly<Record<string, readonly string[]>> = {
  'https://raw.githubusercontent.com/GoogleCloudPlatform/k8s-stackdriver/master/custom-metrics-stackdriver-adapter/deploy/production/adapter_new_resource_model.yaml':
    ['external.metrics.k8s.io'],
};

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly addresses?: readonly { readonly value: string }[] };
}

export const groupOfVersion = (apiVersion: string): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';

function needGroup(
  project: Project,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): void {
  const group = groupOfVersion(apiVersion);
  if (group !== '' && !isCoreGroup(group) && !project.has('API group', group))
    project.fault(`no command before installed the CRD of ${kind} (${group})`);
}

/** A release of the chart of webcapture that a page installs or upgrades. */
export interface Release {
  readonly line: number;
  readonly name: string;
  readonly namespace: string;
  readonly values: Values;
  /** The API groups whose CRDs the cluster has at this line. */
  readonly groups: readonly string[];
}

export class Cluster {
  readonly releases: Release[] = [];
  readonly applied: Manifest[] = [];

  readonly #project: Project;
  readonly #folder: string;

  constructor(project: Project, folder: string) {
    this.#project = project;
    this.#folder = folder;
  }

  call({ program, args, registry, line }: Call): void {
    if (program === 'kubectl' || program === 'helm') this.#project.need('context of kubectl', 'current');
    if (program === 'kubectl') this.#kubectl(args);
    if (program === 'helm') this.#helm(args, line);
    if (program === 'docker') this.#docker(args, registry);
    if (program === 'curl') this.#curl(args);
  }

  #parse(args: readonly string[], flags: string) {
    return parseCommand(args, flags.split(' '), (flag) =>
      this.#project.fault(`add the flag ${flag} of ${args[0]}, if it exists`),
    );
  }

  #kubectl(args: readonly string[]): void {
    const project = this.#project;
    const { words, flags } = this.#parse(args, 'n= o= f= from-literal= server-side force-conflicts');
    const namespace = flags.get('n')?.[0] ?? 'default';
    const [verb = '', kind = '', ...rest] = words;
    const literals = flags.get('from-literal') ?? [];
    if (namespace !== 'default') project.need('namespace', namespace);
    if (verb === 'create' && kind === 'namespace') project.make('namespace', rest[0] ?? '');
    else if (verb === 'create' && kind === 'secret') {
      const secret = `${namespace}/${rest[1]}`;
      project.make('Secret', secret);
      for (const literal of literals) project.note('key of a Secret', `${secret}/${literal.split('=')[0]}`);
    } else if (verb === 'get' && kind === 'secret') {
      project.need('Secret', `${namespace}/${rest[0]}`);
      const key = /\{\.data\.(.+)\}/.exec(flags.get('o')?.[0] ?? '')?.[1] ?? '';
      project.need('key of a Secret', `${namespace}/${rest[0]}/${key}`);
    } else if (verb === 'get' && kind === 'crd') {
      const group = (rest[0] ?? '').split('.').slice(1).join('.');
      needGroup(project, { apiVersion: `${group}/v1`, kind: rest[0] ?? '' });
    } else if (verb === 'get') {
      for (const each of kind.split(',')) {
        if (groupOf[each] === undefined) project.fault(`add the group of ${each} to this test`);
        else needGroup(project, { apiVersion: `${groupOf[each]}/v1`, kind: each });
      }
    } else if (verb === 'apply') (flags.get('f') ?? []).forEach((file) => this.#apply(file));
    else if (verb === 'delete' && kind === 'namespace') {
      for (const name of rest) {
        project.remove('namespace', name);
        if (project.names('release').some((release) => release.startsWith(`${name}/`)))
          project.fault(`the namespace ${name} has a release`);
      }
    } else if (verb === 'annotate')
      project.fault(
        'annotations of the chart belong in its values: the next upgrade removes those of kubectl annotate',
      );
    else project.fault(`add kubectl ${verb} ${kind} to this test`);
  }

  #apply(file: string): void {
    if (file.startsWith('https://')) {
      const groups = manifests[file];
      if (groups === undefined) return this.#project.fault(`add ${file} to the manifests of this test`);
      return groups.forEach((group) => this.#project.note('API group', group));
    }
    if (file === 'charts/webcapture/crds/') return this.#project.note('API group', 'webcapture.dev');
    for (const document of parseAllDocuments(readFileSync(join(this.#folder, file), 'utf8'))) {
      const manifest = document.toJS() as Manifest;
      const { metadata, kind, spec } = manifest;
      needGroup(this.#project, manifest);
      this.applied.push(manifest);
      if (metadata.namespace !== undefined) this.#project.need('namespace', metadata.namespace);
      this.#project.note(kind, `${metadata.namespace ?? 'default'}/${metadata.name}`);
      const map = metadata.annotations?.['networking.gke.io/certmap'];
      if (map !== undefined) this.#project.need('certificate map', map);
      for (const { value } of spec?.addresses ?? []) this.#project.need('address', value);
    }
  }

  #helm(args: readonly string[], line: number): void {
    const project = this.#project;
    const { words, flags } = this.#parse(args, 'n= namespace= version= set= f= timeout= create-namespace wait');
    const namespace = flags.get('namespace')?.[0] ?? flags.get('n')?.[0] ?? 'default';
    const [verb = '', name = '', chart = '', url = ''] = words;
    if (verb === 'repo') {
      if (charts[chart]?.url === url) project.make('Helm repository', chart);
      else project.fault(`add the repository ${chart} ${url} to this test`);
      return;
    }
    if (flags.has('create-namespace')) project.make('namespace', namespace);
    else project.need('namespace', namespace);
    if (verb === 'install') project.make('release', `${namespace}/${name}`);
    else if (verb === 'uninstall') return project.remove('release', `${namespace}/${name}`);
    else project.need('release', `${namespace}/${name}`);
    if (verb === 'test') return;
    const values = (flags.get('f') ?? []).map(
      (file) => parse(readFileSync(join(this.#folder, file), 'utf8')) as Values,
    );
    if (chart === 'charts/webcapture') {
      const release = { line, name, namespace, values: mergeValues(values), groups: project.names('API group') };
      this.releases.push(release);
      return checkValues(project, release);
    }
    const [repository = ''] = chart.split('/');
    project.need('Helm repository', repository);
    if (!flags.has('version')) project.fault(`${chart} has no version`);
    for (const group of charts[repository]?.groups ?? []) project.note('API group', group);
    const { extraResources = [], container } = mergeValues(values);
    for (const resource of extraResources) needGroup(project, resource);
    for (const variable of Object.values(container?.env ?? {})) {
      if (typeof variable === 'string') continue;
      const { name: secret, key } = variable.valueFrom.secretKeyRef;
      project.need('key of a Secret', `${namespace}/${secret}/${key}`);
    }
  }

  #docker(args: readonly string[], registry: string): void {
    const [, verb] = args;
    if (verb === 'create') return this.#project.make('builder', args[args.indexOf('--name') + 1] ?? '');
    const [host = '', of = '', repository = ''] = registry.split('/');
    this.#project.need('builder', 'webcapture');
    this.#project.need('registry that Docker can sign in to', host);
    this.#project.need('project', of);
    this.#project.need('image repository', repository);
    this.#project.note('registry with the images', registry);
  }

  #curl(args: readonly string[]): void {
    const host = new URL(args.find((arg) => arg.startsWith('https://')) ?? 'https://none.invalid').hostname;
    this.#project.need('DNS record', `${host}.`);
    this.#project.need('published host', host);
  }
}
