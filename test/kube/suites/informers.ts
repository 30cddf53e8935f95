import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreV1Api, type V1Pod } from '@kubernetes/client-node';
import { beforeAll, describe, expect, test, type TestContext } from 'vitest';
import {
  KubernetesClient,
  loadInCluster,
  loadKubeconfig,
  type ApiErrorKind,
} from '../../../services/controller/kubernetes/client.ts';
import { Inventory, podCollection } from '../../../services/controller/kubernetes/inventory.ts';
import { keepPod, type Pod } from '../../../services/controller/kubernetes/objects.ts';
import { Reflector, type RestartReason } from '../../../services/controller/kubernetes/reflector.ts';
import { ApiGate, type GateRequest } from '../../harness/api-gate.ts';
import { tokens, type ControlPlane } from '../../harness/control-plane.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { sharedPlane } from '../support/shared-plane.ts';
import { release, TestNamespace } from '../support/test-namespace.ts';

const names = { cluster: 'c', namespace: 'n' };

/** Intervals that are a tenth of the real ones, except for the silence timeout, which only tests of silence set. */
const times = { watchMs: 2000, relistMs: 60_000, retryMs: 50, maxRetryMs: 500 };
const usualSilenceMs = 60_000;
const impatient = { silenceMs: 2500 };

type Overrides = Partial<typeof times> & { readonly silenceMs?: number };

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedPlane();
});

/** An informer of pods that connects through a gate, configured as in a pod. */
class Informer {
  readonly restarts: RestartReason[] = [];
  readonly errors: ApiErrorKind[] = [];
  readonly accountDir: string;
  readonly gate: ApiGate;
  readonly #reflector: Reflector<V1Pod, Pod>;
  readonly client: KubernetesClient;
  readonly #aborter = new AbortController();
  readonly #running: Promise<void>;

  private constructor(gate: ApiGate, accountDir: string, { silenceMs = usualSilenceMs, ...overrides }: Overrides) {
    this.gate = gate;
    this.accountDir = accountDir;
    const cluster = { host: '127.0.0.1', port: String(gate.port), accountDir };
    this.client = new KubernetesClient({
      load: () => loadInCluster(cluster),
      onError: (kind) => this.errors.push(kind),
      silenceMs,
    });
    this.#reflector = new Reflector({
      resource: 'pods',
      client: this.client,
      collection: podCollection,
      keep: keepPod,
      onChange: () => undefined,
      onRestart: (reason) => this.restarts.push(reason),
      log: silentLog,
      times: { ...times, ...overrides },
    });
    this.#running = this.#reflector.run(this.#aborter.signal);
  }

  static async start(namespace: TestNamespace, overrides: Overrides = {}): Promise<Informer> {
    const accountDir = await plane.accountDir(namespace.name, tokens.controller);
    return new Informer(await ApiGate.before(plane), accountDir, overrides);
  }

  get names(): string[] {
    return [...this.#reflector.objects.keys()].toSorted();
  }

  get ageMs(): number | null {
    return this.#reflector.ageMs;
  }

  get watches(): number {
    return this.gate.requests.filter(({ isWatch }) => isWatch).length;
  }

  get lists(): number {
    return this.gate.requests.length - this.watches;
  }

  state(name: string): string | undefined {
    return this.#reflector.objects.get(name)?.state;
  }

  async shows(...names: string[]): Promise<void> {
    await until(`the informer to show ${names.join(', ')}`, () => this.names.join() === names.join()).catch(
      (error: unknown) => {
        throw new Error(`it shows ${this.names.join()}, after ${this.restarts.join()}`, { cause: error });
      },
    );
  }

  async stop(): Promise<void> {
    this.#aborter.abort();
    await this.#running;
    await this.client.close();
    await this.gate[Symbol.asyncDispose]();
  }
}

/** Starts an informer that shows the pod `a` in a new namespace. */
async function watching({ onTestFinished }: Pick<TestContext, 'onTestFinished'>, overrides: Overrides = {}) {
  const namespace = await TestNamespace.create(plane);
  await namespace.addPod('a', 'us-east');
  const informer = await Informer.start(namespace, overrides);
  await informer.shows('a');
  await until('the watch to be open', () => informer.watches > 0);
  onTestFinished(() => informer.stop());
  return { namespace, informer };
}

describe.concurrent('an informer of pods', () => {
  test('follows pods that are created, changed, terminated and deleted', async ({ expect, onTestFinished }) => {
    const { namespace, informer } = await watching({ onTestFinished });
    await namespace.addPod('b', 'eu-west', 'unready', 'CrashLoopBackOff');
    await informer.shows('a', 'b');
    await until('b to be unready', () => informer.state('b') === 'unready');
    await namespace.setState('b', 'ready');
    await until('b to be ready', () => informer.state('b') === 'ready');
    await namespace.endPod('b');
    await until('b to be ending', () => informer.state('b') === 'ending');
    await namespace.killPod('b');
    await informer.shows('a');
    expect(informer.restarts).toEqual([]);
  });

  test('continues from watch to watch without a gap, a list request or another connection', async ({
    expect,
    onTestFinished,
  }) => {
    const { namespace, informer } = await watching({ onTestFinished });
    const before = informer.watches;
    await until('two more watches', () => informer.watches >= before + 2);
    const from = performance.now();
    await namespace.addPod('b', 'us-east');
    await informer.shows('a', 'b');
    expect([informer.lists, informer.restarts]).toEqual([1, []]);
    expect(informer.gate.openConnections).toBeLessThanOrEqual(2);
    expect(informer.ageMs).toBeLessThan(performance.now() - from);
  });

  const isWatch = (request: GateRequest) => request.isWatch;
  const isAny = () => true;

  test.for([
    ['resets', { kind: 'reset' }, isAny, 3, 'error'],
    ['returns 500', { kind: 'status', status: 500 }, isAny, 3, 'error'],
    ['returns 429', { kind: 'status', status: 429 }, isWatch, 2, 'error'],
    ['returns 401 for a while', { kind: 'status', status: 401 }, isAny, 4, 'error'],
    ['returns 403 for a while', { kind: 'status', status: 403 }, isWatch, 2, 'error'],
    ['returns 410', { kind: 'status', status: 410 }, isWatch, 1, 'expired'],
    ['sends an event in the watch that its history is gone', { kind: 'expired' }, isWatch, 1, 'expired'],
    ['does not respond', { kind: 'hang' }, isWatch, 1, 'silent'],
  ] as const)('continues when the server %s', async ([, fault, match, count, reason], { expect, onTestFinished }) => {
    const { namespace, informer } = await watching({ onTestFinished }, reason === 'silent' ? impatient : {});
    let left: number = count;
    informer.gate.fault = (request) => (match(request) && left-- > 0 ? fault : null);
    informer.gate.reset();
    await namespace.addPod('b', 'us-east');
    await namespace.killPod('a');
    await informer.shows('b');
    expect(left).toBeLessThanOrEqual(0);
    expect(informer.restarts).toContain(reason);
  });

  test('detects a watch that receives nothing although its connection is open', async ({ onTestFinished }) => {
    const { namespace, informer } = await watching({ onTestFinished }, impatient);
    informer.gate.cut();
    await namespace.addPod('b', 'us-east');
    await until('the silence to be detected', () => informer.restarts.includes('silent'));
    informer.gate.restore();
    await informer.shows('a', 'b');
  });

  test('reads a rotated token again', async ({ expect, onTestFinished }) => {
    const { namespace, informer } = await watching({ onTestFinished });
    informer.gate.fault = ({ token }) => (token === tokens.controller ? { kind: 'status', status: 401 } : null);
    await writeFile(join(informer.accountDir, 'token'), `${tokens.rotated}\n`);
    informer.gate.reset();
    await namespace.addPod('b', 'us-east');
    await informer.shows('a', 'b');
    expect(informer.gate.requests.at(-1)?.token).toBe(tokens.rotated);
  });

  test('sees pods and Deployments without the CRD of RenderRegions', async ({ expect, onTestFinished }) => {
    const { namespace, informer } = await watching({ onTestFinished });
    informer.gate.fault = ({ path }) => (path.includes('renderregions') ? { kind: 'status', status: 404 } : null);
    const inventory = new Inventory({
      client: informer.client,
      release,
      log: silentLog,
      onChange: () => undefined,
      now: Date.now,
      startTimeoutMs: 300,
    });
    const aborter = new AbortController();
    const running = inventory.run(aborter.signal);
    await namespace.addDeployment('us-east', 3);
    await until('the Deployment to be seen', () => inventory.report(names)?.regions['us-east']?.wanted === 3);
    expect(inventory.report(names)?.regions['us-east']).toEqual({
      wanted: 3,
      asked: 3,
      pods: [{ name: 'a', state: 'ready' }],
      missing: [],
    });
    aborter.abort();
    await running;
  });

  test('counts the Deployment of a RenderRegion, and reports why Kubernetes refuses its pods', async ({
    expect,
    onTestFinished,
  }) => {
    const { namespace, informer } = await watching({ onTestFinished });
    await namespace.addDeployment('us-east', 3);
    await namespace.addDeployment('us-west', 5);
    await namespace.addRegion('us-east', 'test-renderer-us-west');
    const message = 'pods "x" is forbidden: exceeded quota: small';
    await namespace.api.do('PATCH', `${namespace.path('deployments')}/test-renderer-us-west/status`, {
      status: { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }] },
    });
    const { client } = informer;
    const inventory = new Inventory({ client, release, log: silentLog, now: Date.now, onChange: () => undefined });
    const aborter = new AbortController();
    const running = inventory.run(aborter.signal);
    const { regions } = await until('a report', () => inventory.report(names));
    expect(regions['us-east']).toMatchObject({ wanted: 5, asked: 5, refused: [message], missing: [] });
    aborter.abort();
    await running;
  });

  test('continues from the wanted number of an earlier controller', async ({ expect, onTestFinished }) => {
    const { namespace, informer } = await watching({ onTestFinished });
    await namespace.addRegion('us-east');
    await namespace.addDeployment('us-east', 8);
    const path = `${namespace.path('renderregions')}/us-east/status`;
    await namespace.api.do('PATCH', path, { status: { wanted: 2, lastCheckedAt: new Date().toISOString() } });
    const { client } = informer;
    const inventory = new Inventory({ client, release, log: silentLog, now: Date.now, onChange: () => undefined });
    const aborter = new AbortController();
    const running = inventory.run(aborter.signal);
    expect((await until('a report', () => inventory.report(names))).regions['us-east']?.wanted).toBe(2);
    aborter.abort();
    await running;
  });

  test('lists all pods again regularly', async ({ expect, onTestFinished }) => {
    const { informer } = await watching({ onTestFinished }, { watchMs: 1000, relistMs: 100 });
    await until('two more listings', () => informer.lists > 2);
    await informer.shows('a');
    expect(new Set(informer.restarts)).toEqual(new Set(['relist']));
  });
});

test('a client without the right to list pods gets a 403, and one with the right lists them with the same kubeconfig', async ({
  onTestFinished,
}) => {
  const namespace = await TestNamespace.create(plane);
  await namespace.addPod('a', 'us-east');
  const connect = async (token: string) => {
    const file = await plane.kubeconfig(namespace.name, token);
    const client = new KubernetesClient({ load: () => loadKubeconfig([file]) });
    onTestFinished(() => client.close());
    return client;
  };
  const listPods = (client: KubernetesClient) =>
    client.call('listing pods', 5000, (api, name) => api(CoreV1Api).listNamespacedPod({ namespace: name }));
  const unprivileged = await connect(tokens.stranger);
  await expect(listPods(unprivileged)).rejects.toThrow('403 Forbidden: pods is forbidden: User "stranger" cannot list');
  const controller = await connect(tokens.controller);
  expect(await listPods(controller)).toMatchObject({ items: [{ metadata: { name: 'a' } }] });
  expect(controller.namespace).toBe(namespace.name);
});

test("the token of a pod's service account is accepted", async ({ onTestFinished }) => {
  const namespace = await TestNamespace.create(plane);
  const accountDir = await plane.accountDir(namespace.name, await namespace.accountToken());
  const client = new KubernetesClient({
    load: () => loadInCluster({ host: '127.0.0.1', port: String(plane.port), accountDir }),
  });
  onTestFinished(() => client.close());
  const pods = client.call('listing pods', 5000, (api, name) => api(CoreV1Api).listNamespacedPod({ namespace: name }));
  expect(await pods).toMatchObject({ items: [] });
  const secrets = client.call('listing secrets', 5000, (api, name) =>
    api(CoreV1Api).listNamespacedSecret({ namespace: name }),
  );
  await expect(secrets).rejects.toThrow(`User "system:serviceaccount:${namespace.name}:controller" cannot list`);
});

test('an informer continues after the API server was killed and restarted', async ({ onTestFinished }) => {
  const { namespace, informer } = await watching({ onTestFinished });
  await plane.killServer();
  await until('the loss of the connection to be detected', () => informer.errors.includes('connection'));
  expect(informer.names).toEqual(['a']);
  const from = performance.now();
  await plane.startServer();
  process.stdout.write(`the API server restarted in ${((performance.now() - from) / 1000).toFixed(1)} s\n`);
  await namespace.addPod('b', 'us-east');
  await informer.shows('a', 'b');
});
