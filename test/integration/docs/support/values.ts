import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import type { Project } from './project.ts';

// Values files omit values for which the chart has defaults.
const { required: _, ...schema } = JSON.parse(
  readFileSync(new URL('../../../../charts/webcapture/values.schema.json', import.meta.url), 'utf8'),
) as { readonly required?: readonly string[] };
const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);

interface EnvSource {
  readonly valueFrom: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

/** The values that this test reads, of the chart of webcapture and of that of NATS. */
export interface Values {
  readonly publicUrl?: string;
  readonly image?: { readonly registry: string };
  readonly auth?: { readonly existingSecret: string };
  readonly regions?: readonly { readonly name: string }[];
  readonly nats?: { readonly existingSecret: string };
  readonly storage?: { readonly gcs: { readonly bucket: string; readonly links?: string; readonly project?: string } };
  readonly serviceAccounts?: Readonly<Record<string, { readonly annotations?: Readonly<Record<string, string>> }>>;
  readonly renderer?: { readonly runtimeClassName?: string; readonly nodeSelector?: Readonly<Record<string, string>> };
  readonly httpRoute?: {
    readonly enabled: boolean;
    readonly parentRefs: readonly { readonly name: string; readonly namespace: string }[];
    readonly hostnames: readonly string[];
  };
  readonly hpa?: { readonly enabled: boolean };
  readonly keda?: { readonly enabled: boolean };
  readonly monitoring?: Readonly<Record<string, { readonly enabled?: boolean }>>;
  readonly container?: { readonly env: Readonly<Record<string, string | EnvSource>> };
  readonly extraResources?: readonly { readonly apiVersion: string; readonly kind: string }[];
}

/** Merges values files as Helm does: a later file wins, and lists are replaced. */
export function mergeValues(files: readonly Values[]): Values {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const merge = (first: unknown, second: unknown): unknown =>
    isMap(first) && isMap(second)
      ? {
          ...first,
          ...Object.fromEntries(Object.entries(second).map(([key, value]) => [key, merge(first[key], value)])),
        }
      : (second ?? first);
  return files.reduce<unknown>(merge, {}) as Values;
}

/** Checks that an earlier command has made everything that the values of a release name. */
export function checkValues(project: Project, release: { name: string; namespace: string; values: Values }): void {
  const { name, namespace, values } = release;
  if (!isValid(values))
    for (const { instancePath, message, params } of isValid.errors ?? [])
      project.fault(`the values of ${name}: ${instancePath} ${message} ${JSON.stringify(params)}`);
  const leftover = /example-\w+|\bcapture\.example\.com|us-east1\b|203\.0\.113\.\d+|172\.16\.0\.2\b/.exec(
    JSON.stringify(values),
  );
  if (leftover !== null) project.fault(`the values of ${name} still contain ${leftover[0]} of the example`);
  project.need('registry with the images', values.image?.registry ?? '');
  const { gcs } = values.storage ?? {};
  project.need('bucket', gcs?.bucket ?? '');
  project.need('project', gcs?.project ?? '');
  const bucket = `bucket ${gcs?.bucket} `;
  const bindings = project.names('binding');
  for (const service of ['front', 'renderer', 'controller']) {
    const email = values.serviceAccounts?.[service]?.annotations?.['iam.gke.io/gcp-service-account'] ?? '';
    project.need('Google service account', email);
    const pool = project.names('workload identity pool')[0];
    project.need(
      'binding',
      `Google service account ${email} roles/iam.workloadIdentityUser serviceAccount:${pool}[${namespace}/${name}-${service}]`,
    );
    if (!bindings.some((it) => it.startsWith(bucket) && it.endsWith(` serviceAccount:${email}`)))
      project.fault(`${email} has no role on the bucket`);
    if (service === 'front' && gcs?.links === 'signed')
      project.need(
        'binding',
        `Google service account ${email} roles/iam.serviceAccountTokenCreator serviceAccount:${email}`,
      );
  }
  const regions = (values.regions ?? []).map((region) => `renderer-${region.name}-password`);
  const keys = {
    [values.auth?.existingSecret ?? '']: ['admin-token', 'secrets-key'],
    [values.nats?.existingSecret ?? '']: ['front-password', 'controller-password', ...regions],
  };
  for (const [secret, each] of Object.entries(keys))
    for (const key of each) project.need('key of a Secret', `${namespace}/${secret}/${key}`);
  const pool = values.renderer?.nodeSelector?.['cloud.google.com/gke-nodepool'];
  if (pool !== undefined || values.renderer?.runtimeClassName === 'gvisor')
    project.need('sandboxed node pool', pool ?? '');
  for (const parent of values.httpRoute?.parentRefs ?? [])
    project.need('Gateway', `${parent.namespace}/${parent.name}`);
  for (const host of values.httpRoute?.hostnames ?? []) {
    project.need('DNS record', `${host}.`);
    if (values.publicUrl === `https://${host}`) project.note('published host', host);
  }
  const operators = {
    'external.metrics.k8s.io': values.hpa?.enabled,
    'keda.sh': values.keda?.enabled,
    'gateway.networking.k8s.io': values.httpRoute?.enabled,
    'monitoring.googleapis.com': values.monitoring?.['podMonitoring']?.enabled ?? values.monitoring?.['rules']?.enabled,
    'monitoring.coreos.com':
      values.monitoring?.['serviceMonitor']?.enabled ?? values.monitoring?.['prometheusRule']?.enabled,
  };
  for (const [group, enabled] of Object.entries(operators)) if (enabled === true) project.need('API group', group);
}
