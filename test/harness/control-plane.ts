import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { Agent } from 'node:https';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { startProcess, type GuardedProcess } from '../../deploy/local/process.ts';
import { freePort } from './free-port.ts';
import { KubeApi } from './kube-api.ts';
import { until } from './until.ts';

/** Users by token. `controller` has the permissions of a Role that the test creates. */
export const tokens = {
  admin: 'admin-token',
  controller: 'controller-token',
  rotated: 'rotated-token',
  stranger: 'stranger-token',
} as const;

const readyLimitMs = 120_000;

/** With the default, garbage collection takes a quarter of the processor time, especially at startup. */
const apiServerEnv = { ...process.env, GOGC: '400', GOMEMLIMIT: '1GiB' };

/** A real Kubernetes API: etcd and kube-apiserver, without nodes and controllers. Tests create and delete pods. */
export class ControlPlane implements AsyncDisposable {
  readonly folder: string;
  readonly port: number;
  readonly #programs: string;
  readonly #etcdPort: number;
  readonly #etcd: GuardedProcess;
  #server: GuardedProcess | null = null;
  #manager: GuardedProcess | null = null;
  #lastLines: string[] = [];
  #ca = '';

  private constructor(folder: string, programs: string, ports: { api: number; etcd: number }, etcd: GuardedProcess) {
    this.folder = folder;
    this.port = ports.api;
    this.#programs = programs;
    this.#etcdPort = ports.etcd;
    this.#etcd = etcd;
  }

  static async start(parentFolder: string): Promise<ControlPlane> {
    const { path } = await ensureTool('control-plane', { log: (line) => process.stdout.write(`${line}\n`) });
    const folder = await mkdtemp(join(parentFolder, 'control-plane-'));
    const etcdPort = await freePort();
    const peer = `http://127.0.0.1:${await freePort()}`;
    const client = `http://127.0.0.1:${etcdPort}`;
    const etcd = await startProcess({
      name: 'etcd',
      command: join(path, 'etcd'),
      args: [
        '--name=default',
        `--data-dir=${join(folder, 'etcd')}`,
        '--unsafe-no-fsync',
        '--log-level=error',
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
      ],
      graceOnLossMs: 0,
    });
    const plane = new ControlPlane(folder, path, { api: await freePort(), etcd: etcdPort }, etcd);
    await plane.#writeKeys();
    await plane.startServer();
    return plane;
  }

  /** The certificate authority for clients. */
  get ca(): string {
    return this.#ca;
  }

  api(token: string = tokens.admin): KubeApi {
    return new KubeApi(`https://127.0.0.1:${this.port}`, token, new Agent({ ca: this.#ca, keepAlive: true }));
  }

  /** The certificate of the API server, for proxies in front of it. */
  async serving(): Promise<{ cert: string; key: string; ca: string }> {
    const read = (name: string) => readFile(join(this.folder, 'certificates', name), 'utf8');
    return { cert: await read('apiserver.crt'), key: await read('apiserver.key'), ca: this.#ca };
  }

  /** Starts the API server, on the same port and data each time. */
  async startServer(): Promise<void> {
    this.#server = await startProcess({
      name: 'kube-apiserver',
      command: join(this.#programs, 'kube-apiserver'),
      args: this.#serverArgs(),
      env: apiServerEnv,
      onLine: (line) => (this.#lastLines = [...this.#lastLines, line].slice(-20)),
      graceOnLossMs: 0,
    });
    let ended = false;
    void this.#server.exited.then(() => (ended = true));
    const isReady = async () => {
      if (ended) throw new Error('it has ended');
      this.#ca = await readFile(join(this.folder, 'certificates', 'apiserver.crt'), 'utf8');
      return (await this.api().raw('GET', '/readyz')).status === 200;
    };
    await until('the API server to be ready', isReady, { deadlineMs: readyLimitMs }).catch((error: unknown) => {
      throw new Error(`kube-apiserver does not start:\n${this.#lastLines.join('\n')}`, { cause: error });
    });
  }

  /** Starts the controllers that create and delete pods for Deployments, in all namespaces. */
  async startControllerManager(): Promise<void> {
    const { path } = await ensureTool('kube-controller-manager', { log: (line) => process.stdout.write(`${line}\n`) });
    this.#manager = await startProcess({
      name: 'kube-controller-manager',
      command: path,
      args: [
        `--kubeconfig=${await this.kubeconfig('default', tokens.admin)}`,
        '--controllers=deployment-controller,replicaset-controller',
        '--leader-elect=false',
        '--secure-port=0',
      ],
      graceOnLossMs: 0,
    });
  }

  async killServer(): Promise<void> {
    this.#server?.kill('SIGKILL');
    await this.#server?.exited;
  }

  /** Returns a kubeconfig of a user, for this server or for a proxy in front of it. */
  async kubeconfig(namespace: string, token: string, server = `https://127.0.0.1:${this.port}`): Promise<string> {
    const path = join(this.folder, `kubeconfig-${randomUUID()}`);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(this.#ca).toString('base64') } },
      ],
      users: [{ name: 'test', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace } }],
      'current-context': 'test',
    };
    await writeFile(path, JSON.stringify(config));
    return path;
  }

  /** Writes a service account's folder as the kubelet mounts it into a pod; rewrite its `token` to rotate it. */
  async accountDir(namespace: string, token: string): Promise<string> {
    const folder = await mkdtemp(join(this.folder, 'account-'));
    const files = { 'ca.crt': this.#ca, namespace, token };
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
    return folder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#manager?.stop({ graceMs: 0 });
    await this.#server?.stop({ graceMs: 0 });
    await this.#etcd.stop({ graceMs: 0 });
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  #serverArgs(): string[] {
    const file = (name: string) => join(this.folder, name);
    return [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      `--secure-port=${this.port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${file('certificates')}`,
      '--authorization-mode=RBAC',
      `--token-auth-file=${file('tokens.csv')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      `--service-account-key-file=${file('account.pub')}`,
      `--service-account-signing-key-file=${file('account.key')}`,
      '--service-account-issuer=https://kubernetes.test',
      '--endpoint-reconciler-type=none',
      '--disable-admission-plugins=ServiceAccount',
      '--enable-priority-and-fairness=false',
      '--profiling=false',
    ];
  }

  async #writeKeys(): Promise<void> {
    await mkdir(join(this.folder, 'certificates'));
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    });
    const lines = [
      `${tokens.admin},admin,admin,system:masters`,
      `${tokens.controller},controller,controller`,
      `${tokens.rotated},controller,controller`,
      `${tokens.stranger},stranger,stranger`,
    ];
    await Promise.all([
      writeFile(join(this.folder, 'account.pub'), publicKey),
      writeFile(join(this.folder, 'account.key'), privateKey),
      writeFile(join(this.folder, 'tokens.csv'), `${lines.join('\n')}\n`),
    ]);
  }
}
