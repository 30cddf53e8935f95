import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { chartFolder, envOf, find, helmDeadlineMs, render, type KubeObject } from '../../harness/helm.ts';
import type { ControlPlane } from '../../harness/control-plane.ts';
import type { KubeApi } from '../../harness/kube-api.ts';
import { sharedPlane } from '../support/shared-plane.ts';

interface Secret {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly data: Readonly<Record<string, string>>;
}

describe('the Job before an installation, with the rights from the chart', () => {
  const names = ['wc-webcapture-auth', 'wc-webcapture-nats-auth'] as const;
  let plane: ControlPlane;
  let api: KubeApi;
  let objects: readonly KubeObject[];
  beforeAll(async () => {
    plane = await sharedPlane();
    api = plane.api();
    objects = await render();
  }, helmDeadlineMs);

  /** Creates a namespace with the objects of the hook. */
  async function makeNamespace(): Promise<string> {
    const namespace = `t-${randomUUID().slice(0, 8)}`;
    await api.do('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const own = (kind: string) => find(objects, kind, 'wc-webcapture-prepare');
    const binding = own('RoleBinding') as KubeObject & { subjects: object[] };
    await api.do('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      ...own('ServiceAccount'),
    });
    await api.do('POST', `${rbac}/roles`, own('Role'));
    await api.do('POST', `${rbac}/rolebindings`, {
      ...binding,
      subjects: binding.subjects.map((subject) => ({ ...subject, namespace })),
    });
    return namespace;
  }

  /** Runs the script like the pod of the Job; rejects with its stderr. */
  async function prepare(namespace: string, values: readonly KubeObject[] = objects): Promise<string> {
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/wc-webcapture-prepare/token`;
    const { status } = await api.do<{ status: { token: string } }>('POST', account, {
      spec: { expirationSeconds: 600 },
    });
    const accountDir = await plane.accountDir(namespace, status.token);
    const env = {
      ...envOf(find(values, 'Job', 'wc-webcapture-prepare')),
      ACCOUNT_DIR: accountDir,
      NODE_EXTRA_CA_CERTS: join(accountDir, 'ca.crt'),
      NAMESPACE: namespace,
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String(plane.port),
    };
    const script = join(chartFolder, 'files/prepare.mjs');
    return (await promisify(execFile)(process.execPath, [script], { env, timeout: 30_000 })).stdout;
  }

  const secret = (namespace: string, name: string) =>
    api.do<Secret>('GET', `/api/v1/namespaces/${namespace}/secrets/${name}`);
  const valuesOf = ({ data }: Secret) => Object.values(data).map((value) => Buffer.from(value, 'base64').toString());

  test('creates the secrets with distinct values that NATS can read, and the next upgrade does not change them', async () => {
    const namespace = await makeNamespace();
    await prepare(namespace);
    const made = await Promise.all(names.map((name) => secret(namespace, name)));
    const values = made.flatMap(valuesOf);
    expect(values).toHaveLength(12);
    expect(new Set(values).size).toBe(12);
    for (const value of values) expect(value).toMatch(/^[a-z][A-Za-z0-9]{31}$/);
    expect(await prepare(namespace)).toContain('is complete');
    expect(await Promise.all(names.map((name) => secret(namespace, name)))).toEqual(made);
  });

  test('keeps the secrets of a release that had them in its manifest, and adds missing values', async () => {
    const namespace = await makeNamespace();
    const data = { 'front-password': 'Zm9v', 'controller-password': 'YmFy' };
    await api.do('POST', `/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: names[1] }, data });
    expect(await prepare(namespace)).toContain('kept the Secret wc-webcapture-nats-auth, and added');
    const { data: after, metadata } = await secret(namespace, names[1]);
    expect(after).toMatchObject(data);
    expect(Object.keys(after)).toHaveLength(10);
    // Without these annotations, Helm and Argo CD would delete the Secret when the manifest no longer contains it.
    expect(metadata.annotations).toEqual({
      'helm.sh/resource-policy': 'keep',
      'meta.helm.sh/release-name': 'wc',
      'meta.helm.sh/release-namespace': 'ns',
      'argocd.argoproj.io/sync-options': 'Prune=false',
      'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
    });
  });

  test.each([
    ['an emptyDir volume onto an empty disk', { persistence: { enabled: false } }, {}, /keeps its data in an emptyDir/],
    ['a disk to an emptyDir volume', {}, { persistence: { enabled: false } }, /its data would be left behind/],
    ['one size to another', {}, { persistence: { size: '40Gi' } }, /has 20Gi, and nats\.persistence\.size is 40Gi/],
  ])(
    'refuses to move the data of NATS from %s, and changes nothing',
    async (_, was, is, reason) => {
      const namespace = await makeNamespace();
      const [before, after] = await Promise.all([render({ nats: was }), render({ nats: is })]);
      const path = `/apis/apps/v1/namespaces/${namespace}/statefulsets`;
      await api.do('POST', path, {
        ...find(before, 'StatefulSet', 'wc-webcapture-nats'),
        metadata: { name: 'wc-webcapture-nats' },
      });
      const refusal = await prepare(namespace, after).catch((error: unknown) => error as { code: number });
      expect(refusal).toMatchObject({ code: 3, stderr: expect.stringMatching(reason) as unknown });
      const { items } = await api.do<{ items: Secret[] }>('GET', `/api/v1/namespaces/${namespace}/secrets`);
      expect(items).toEqual([]);
      await prepare(namespace, before);
    },
    helmDeadlineMs,
  );

  test('cannot read other Secrets', async () => {
    const namespace = await makeNamespace();
    const plan = JSON.stringify({
      release: {},
      secrets: [{ name: 'other', labels: {}, keys: ['a'] }],
      statefulSet: null,
    });
    const [job] = objects.filter(({ kind }) => kind === 'Job');
    const other = structuredClone(job) as KubeObject;
    for (const env of (
      other['spec'] as { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } }
    ).template.spec.containers[0]?.env ?? []) {
      if (env.name === 'PLAN') env.value = plan;
    }
    await expect(prepare(namespace, [other])).rejects.toThrow(/403/);
  });
});
