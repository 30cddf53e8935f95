import { join } from 'node:path';
import { startNats, type NatsServer } from '../../deploy/local/nats.ts';
import { freePort } from './free-port.ts';
import { asTester, usersConfig } from './nats-users.ts';

/** The NATS of a fleet, one server or a cluster. Each method affects all servers. */
export interface NatsBroker {
  /** Address in the format of WEBCAPTURE_NATS_URL, with the credentials of the test user. */
  readonly url: string;
  readonly pids: readonly number[];
  kill(signal?: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  start(): Promise<void>;
  restart(signal?: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
  logs(): string;
  /** Operations that services tried without permission. */
  violations(): readonly string[];
}

/**
 * A real nats-server of a fleet, with one user per service and the permissions of the chart. Its port and folder stay the same
 * after restarts.
 */
export class Broker implements NatsBroker {
  readonly url: string;
  readonly #port: number;
  readonly #dataDir: string;
  readonly #toolPath: string;
  readonly #config: string;
  readonly #lines: string[];
  #server: NatsServer;

  private constructor(
    server: NatsServer,
    options: { dataDir: string; toolPath: string; config: string; lines: string[] },
  ) {
    this.url = asTester(server.url);
    this.#port = server.port;
    this.#dataDir = options.dataDir;
    this.#toolPath = options.toolPath;
    this.#config = options.config;
    this.#lines = options.lines;
    this.#server = server;
  }

  /** @param config its accounts and users, by default those of a fleet without a prefix */
  static async start(folder: string, toolPath: string, config = usersConfig): Promise<Broker> {
    const dataDir = join(folder, 'nats');
    const lines: string[] = [];
    // The port must not be ephemeral, because an outgoing connection could take it while the server is down.
    const port = await freePort();
    const server = await startNats({ dataDir, toolPath, port, config, log: (line) => lines.push(line) });
    return new Broker(server, { dataDir, toolPath, config, lines });
  }

  get pids(): readonly number[] {
    return [this.#server.process.pid];
  }

  /**
   * Ends the server, by default with SIGKILL, and resolves when the process has exited. Unlike a power cut, this keeps what the
   * server has handed to the kernel.
   */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { process: server } = this.#server;
    server.kill(signal);
    await server.exited;
  }

  /** Sends a signal without waiting: SIGSTOP makes the server hang, SIGCONT resumes it. */
  signal(signal: NodeJS.Signals): void {
    this.#server.process.kill(signal);
  }

  /** Starts the server again at its old port and folder, after a kill. */
  async start(): Promise<void> {
    this.#server = await startNats({
      dataDir: this.#dataDir,
      toolPath: this.#toolPath,
      port: this.#port,
      config: this.#config,
      log: (line) => this.#lines.push(line),
    });
  }

  async restart(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.kill(signal);
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#server.process.stop({ graceMs: 0 });
  }

  logs(): string {
    return this.#lines.join('\n');
  }

  violations(): readonly string[] {
    return this.#lines.filter((line) => line.includes('Violation'));
  }
}
