import { startNats, type NatsServer } from '../../deploy/local/nats.ts';
import { asTester } from './nats-users.ts';

interface ClusterNodeOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly toolPath: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly config: string;
}

/** One server of a cluster. */
export class ClusterNode {
  readonly name: string;
  readonly url: string;
  readonly #options: ClusterNodeOptions;
  readonly #lines: string[] = [];
  #server: NatsServer | undefined;

  constructor(options: ClusterNodeOptions) {
    this.name = options.name;
    this.url = asTester(`nats://127.0.0.1:${options.port}`);
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#server !== undefined;
  }

  get pid(): number {
    return this.#running().process.pid;
  }

  /** Starts the server at its ports and folder, and waits until it accepts clients. It may still be catching up. */
  async start(): Promise<void> {
    if (this.#server !== undefined) throw new Error(`${this.name} runs already`);
    const { dataDir, toolPath, port, config, name } = this.#options;
    const server = await startNats({
      dataDir,
      toolPath,
      port,
      serverName: name,
      config,
      log: (line) => this.#lines.push(line),
    });
    this.#server = server;
    void server.process.exited.then(() => {
      if (this.#server === server) this.#server = undefined;
    });
  }

  /**
   * Ends the server, by default with SIGKILL, and resolves when the process has exited. Unlike a power cut, this keeps what the
   * server has handed to the kernel.
   */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const server = this.#running();
    server.process.kill(signal);
    await server.process.exited;
    this.#server = undefined;
  }

  signal(signal: NodeJS.Signals): void {
    this.#running().process.kill(signal);
  }

  /** Makes the server hang while its connections stay open. */
  stop(): void {
    this.signal('SIGSTOP');
  }

  /** Resumes a server that hangs. */
  cont(): void {
    this.signal('SIGCONT');
  }

  /** Returns `ok` if the server is current with every stream and consumer that it replicates, otherwise its error. */
  async health(): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.#options.monitorPort}/healthz`, {
      signal: AbortSignal.timeout(5000),
    });
    const { status, error } = (await response.json()) as { status: string; error?: string };
    return error ?? status;
  }

  logs(): string {
    return this.#lines.join('\n');
  }

  violations(): readonly string[] {
    return this.#lines.filter((line) => line.includes('Violation'));
  }

  async dispose(): Promise<void> {
    await this.#server?.process.stop({ graceMs: 0 });
    this.#server = undefined;
  }

  #running(): NatsServer {
    if (this.#server === undefined) throw new Error(`${this.name} does not run`);
    return this.#server;
  }
}
