import { spawn, type ChildProcess } from 'node:child_process';
import process from 'node:process';

export interface RunOptions {
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** Runs a program to its end and returns its output. Throws an Error with the end of its error output. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { timeoutMs = 60_000 } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const text = Buffer.concat(output).toString();
      if (code === 0) return resolve(text);
      const end = Buffer.concat(errors).toString().trim() || text.trim();
      const why = signal === null ? `exit code ${code}` : `ended by ${signal} after at most ${timeoutMs} ms`;
      reject(new Error(`${command} ${args.slice(0, 6).join(' ')}: ${why}: ${end.slice(-1500)}`));
    });
    // A program may end without reading its input. Its exit code shows whether it has failed.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}

/** The fields of a pod that the tests use. */
export interface PodFacts {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly containerID?: string }[];
  };
}

export interface Manifest {
  readonly metadata: { readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** The cluster of KUBECONFIG, through kubectl and helm. One namespace contains the tested release. */
export class Cluster {
  readonly namespace: string;
  readonly helmPath: string;

  constructor(namespace: string, helmPath: string) {
    this.namespace = namespace;
    this.helmPath = helmPath;
  }

  kubectl(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return run('kubectl', ['--namespace', this.namespace, ...args], options);
  }

  helm(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return run(this.helmPath, ['--namespace', this.namespace, ...args], { timeoutMs: 600_000, ...options });
  }

  /** Returns the output of `kubectl get … -o json`. */
  async get<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.kubectl(['get', ...args, '-o', 'json'])) as T;
  }

  /** Returns the pods of a component that are not terminating. */
  async pods(component: string, extra = ''): Promise<readonly PodFacts[]> {
    const selector = `app.kubernetes.io/component=${component}${extra}`;
    const { items } = await this.get<{ items: PodFacts[] }>(['pods', '-l', selector]);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Applies a manifest in its namespace, or by default in the one of this object. */
  apply(manifest: Manifest): Promise<string> {
    const namespace = manifest.metadata.namespace ?? this.namespace;
    return this.kubectl(['--namespace', namespace, 'apply', '-f', '-'], { input: JSON.stringify(manifest) });
  }

  exec(pod: string, command: readonly string[], options: RunOptions = {}): Promise<string> {
    return this.kubectl(['exec', pod, '--', ...command], options);
  }

  /** Like `exec`, but in the background; calls `onLine` for each line of the output. */
  execInBackground(pod: string, command: readonly string[], onLine: (line: string) => void): ChildProcess {
    const args = ['--namespace', this.namespace, 'exec', pod, '--', ...command];
    const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'inherit'], env: process.env });
    let rest = '';
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(onLine);
    });
    return child;
  }
}

export const isReady = ({ status }: PodFacts) =>
  status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
