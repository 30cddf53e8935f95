import { fileURLToPath } from 'node:url';
import { nodeArguments, type ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import { startProcess, type GuardedProcess, type ProcessExit } from '../../deploy/local/process.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Number of kept log lines per process: enough to see the cause of a failure. */
const keptLines = 2000;

const readyDeadlineMs = 45_000;

/** One process of a service, with an operations port that stays the same after restarts. */
export class ServiceProcess {
  readonly name: string;
  readonly #service: ServiceName;
  #env: NodeJS.ProcessEnv;
  readonly #opsUrl: string;
  readonly #lines: string[] = [];
  #process: GuardedProcess | undefined;
  #exit: ProcessExit | undefined;

  private constructor(name: string, service: ServiceName, env: NodeJS.ProcessEnv, opsUrl: string) {
    this.name = name;
    this.#service = service;
    this.#env = env;
    this.#opsUrl = opsUrl;
  }

  /**
   * Prepares the process without starting it. `env` is its whole environment except for the operations port, its name and Node's
   * cache.
   */
  static async prepare(name: string, service: ServiceName, env: NodeJS.ProcessEnv): Promise<ServiceProcess> {
    const port = await freePort();
    const own = {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      WEBCAPTURE_OPS_HOST: '127.0.0.1',
      WEBCAPTURE_OPS_PORT: String(port),
      WEBCAPTURE_POD: name,
    };
    return new ServiceProcess(name, service, { ...env, ...own }, `http://127.0.0.1:${port}`);
  }

  /** Process ID. Throws if the process does not run. */
  get pid(): number {
    if (this.#process === undefined || this.#exit !== undefined) throw new Error(`${this.name} does not run`);
    return this.#process.pid;
  }

  /** How the process ended; undefined while it runs. */
  get exit(): ProcessExit | undefined {
    return this.#exit;
  }

  /** Stops the process gracefully, and starts it with other variables. */
  async restartWith(changes: NodeJS.ProcessEnv): Promise<void> {
    await this.stop();
    this.#env = { ...this.#env, ...changes };
    await this.start();
  }

  /** Starts the process and waits until it reports that it is ready; throws with its last log lines. */
  async start(): Promise<void> {
    await this.launch();
    await this.ready();
  }

  /** Starts the process without waiting. */
  async launch(): Promise<void> {
    if (this.#process !== undefined && this.#exit === undefined) throw new Error(`${this.name} runs already`);
    this.#exit = undefined;
    const { options, program } = nodeArguments(this.#service);
    const running = await startProcess({
      name: this.name,
      command: process.execPath,
      args: [...options, program],
      cwd: root,
      env: this.#env,
      graceOnLossMs: 0,
      onLine: (line) => {
        if (this.#lines.push(line) > keptLines) this.#lines.shift();
      },
    });
    this.#process = running;
    void running.exited.then((exit) => {
      if (this.#process === running) this.#exit = exit;
    });
  }

  async ready(deadlineMs = readyDeadlineMs): Promise<void> {
    let verdict = 'no answer';
    try {
      await until(
        `${this.name} to be ready`,
        async () => {
          if (this.#exit !== undefined) return true;
          const response = await fetch(`${this.#opsUrl}/readyz`, { signal: AbortSignal.timeout(2000) });
          verdict = (await response.text()).trim();
          return response.ok;
        },
        { deadlineMs },
      );
    } catch (error) {
      throw new Error(`${this.name} did not become ready (${verdict}). Its last lines:\n${this.tail()}`, {
        cause: error,
      });
    }
    if (this.#exit !== undefined) {
      throw new Error(`${this.name} ended at its start (${describeExit(this.#exit)}). Its last lines:\n${this.tail()}`);
    }
  }

  /** Sends a signal and waits until the process and its descendants have ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ProcessExit> {
    const { pid } = this;
    this.#process?.kill(signal);
    return until(`${this.name} (pid ${pid}) to end by ${signal}`, () => this.#exit);
  }

  /** Sends a signal without waiting, e.g. SIGSTOP. */
  signal(signal: NodeJS.Signals): void {
    void this.pid;
    this.#process?.kill(signal);
  }

  /** Stops the process, by force after the grace period. Has no effect if it is not running. */
  async stop(graceMs = 0): Promise<void> {
    await this.#process?.stop({ graceMs });
  }

  /** All output of this process so far, including before restarts. */
  logs(): string {
    return this.#lines.join('\n');
  }

  tail(lines = 15): string {
    return this.#lines.slice(-lines).join('\n') || '(it printed nothing)';
  }

  /** The operations address: `/metrics`, `/livez`, `/readyz`. */
  get opsUrl(): string {
    return this.#opsUrl;
  }

  async metrics(): Promise<string> {
    const response = await fetch(`${this.#opsUrl}/metrics`, { signal: AbortSignal.timeout(15_000) });
    return response.text();
  }

  /** The sum of all samples of a metric, with any labels; undefined if the metric does not exist. */
  async metric(name: string): Promise<number | undefined> {
    const samples = (await this.metrics())
      .split('\n')
      .filter((line) => line.startsWith(name) && /[ {]/.test(line[name.length] ?? ''));
    if (samples.length === 0) return undefined;
    return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  /** Status and text of `/readyz` or `/livez`. */
  async probe(path: '/readyz' | '/livez'): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#opsUrl}${path}`, { signal: AbortSignal.timeout(15_000) });
    return { status: response.status, text: (await response.text()).trim() };
  }
}

function describeExit(exit: ProcessExit): string {
  return exit.signal === null ? `exit code ${exit.code}` : exit.signal;
}
