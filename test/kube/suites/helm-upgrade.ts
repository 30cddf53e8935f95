import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { chartFolder, helm, helmDeadlineMs, imageArgs, planOf, type KubeObject } from '../../harness/helm.ts';
import { tokens } from '../../harness/control-plane.ts';
import type { KubeApi } from '../../harness/kube-api.ts';
import { sharedPlane } from '../support/shared-plane.ts';

const password = Buffer.from('as-it-was').toString('base64');

/** A chart whose manifest contains the Secrets, and which has no hook that makes them. */
async function previousChart(): Promise<string> {
  const folder = join(await mkdtemp(join(inject('tempFolder'), 'chart-')), 'webcapture');
  await cp(chartFolder, folder, { recursive: true });
  await mkdir(join(folder, 'templates/prepare'), { recursive: true });
  for (const name of ['job', 'rbac']) await writeFile(join(folder, `templates/prepare/${name}.yaml`), '');
  const secret = (name: string, key: string) =>
    `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name} }\ndata: { ${key}: ${password} }\n`;
  const secrets = [secret('wc-webcapture-auth', 'admin-token'), secret('wc-webcapture-nats-auth', 'front-password')];
  await writeFile(join(folder, 'templates/secrets.yaml'), secrets.join('---\n'));
  return folder;
}

interface Secret {
  readonly data: Readonly<Record<string, string>>;
}

test(
  'helm upgrade and rollback keep the secrets that a release had in its manifest, and the data of NATS',
  async () => {
    const plane = await sharedPlane();
    const api = plane.api();
    const namespace = `t-${randomUUID().slice(0, 8)}`;
    await api.do('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    const kubeconfig = await plane.kubeconfig(namespace, tokens.admin);
    const run = (args: readonly string[]) =>
      helm([...args, '--namespace', namespace, '--kubeconfig', kubeconfig, '--timeout', '60s']);
    const core = `/api/v1/namespaces/${namespace}`;
    const dataOf = async (name: string) => (await api.do<Secret>('GET', `${core}/secrets/${name}`)).data;
    const statefulSet = () =>
      api.do<KubeObject & { metadata: { uid: string } }>(
        'GET',
        `/apis/apps/v1/namespaces/${namespace}/statefulsets/wc-webcapture-nats`,
      );

    const values = [...imageArgs, '--set', 'renderRegions=never'];
    // For each command that validates, helm reads the whole schema of the API server. Only the upgrade validates, on behalf of the others.
    const unvalidated = [...values, '--disable-openapi-validation'];
    await run(['install', 'wc', await previousChart(), ...unvalidated, '--no-hooks']);
    const before = await statefulSet();
    await Promise.all([run(['upgrade', 'wc', chartFolder, ...values]), actAsKubelet(api, namespace, plane)]);
    const added = { 'secrets-key': expect.stringMatching(/^[A-Za-z\d+/]{40,}=*$/) as string };
    expect(await dataOf('wc-webcapture-auth')).toEqual({ 'admin-token': password, ...added });
    const passwords = await dataOf('wc-webcapture-nats-auth');
    expect(passwords).toMatchObject({ 'front-password': password });
    expect(Object.keys(passwords)).toHaveLength(10);
    expect((await statefulSet()).metadata.uid).toBe(before.metadata.uid);
    // The objects of the hook were removed with it.
    const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`;
    const { items } = await api.do<{ items: KubeObject[] }>('GET', roles);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['wc-webcapture-controller']);

    // An operator returns to the previous chart: by a rollback, or by an upgrade to it after an installation of this chart.
    await run(['rollback', 'wc', '1', '--no-hooks']);
    expect(await dataOf('wc-webcapture-auth')).toMatchObject({ 'admin-token': password });
    expect(await dataOf('wc-webcapture-nats-auth')).toMatchObject({ 'front-password': password });
    expect((await statefulSet()).metadata.uid).toBe(before.metadata.uid);
    await run(['uninstall', 'wc', '--no-hooks']);
    await Promise.all([run(['install', 'wc', chartFolder, ...unvalidated]), actAsKubelet(api, namespace, plane)]);
    await run(['upgrade', 'wc', await previousChart(), ...unvalidated, '--no-hooks']);
  },
  helmDeadlineMs,
);

/** Runs the Job for which helm waits, and marks it as complete, because there is no kubelet here. */
async function actAsKubelet(
  api: KubeApi,
  namespace: string,
  plane: Awaited<ReturnType<typeof sharedPlane>>,
): Promise<void> {
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs/wc-webcapture-prepare`;
  const deadline = performance.now() + 60_000;
  let job = await api.raw<KubeObject>('GET', path);
  while (job.status !== 200) {
    if (performance.now() > deadline) throw new Error('helm has created no Job');
    await sleep(100);
    job = await api.raw<KubeObject>('GET', path);
  }
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/wc-webcapture-prepare/token`;
  const { status } = await api.do<{ status: { token: string } }>('POST', account, { spec: { expirationSeconds: 600 } });
  const accountDir = await plane.accountDir(namespace, status.token);
  const env = {
    PLAN: JSON.stringify(planOf([job.body])),
    ACCOUNT_DIR: accountDir,
    NODE_EXTRA_CA_CERTS: join(accountDir, 'ca.crt'),
    NAMESPACE: namespace,
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(plane.port),
  };
  await promisify(execFile)(process.execPath, [join(chartFolder, 'files/prepare.mjs')], { env, timeout: 30_000 });
  const at = new Date().toISOString();
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: at, lastProbeTime: at });
  await api.do('PATCH', `${path}/status`, {
    status: {
      startTime: at,
      completionTime: at,
      succeeded: 1,
      conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
    },
  });
}
