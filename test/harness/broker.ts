import { join } from 'node:path';
import { startNats, type NatsServer } from '../../deploy/local/nats.ts';
import { freePort } from './free-port.ts';
import { asTester, usersConfig } from './nats-users.ts';

/** What a fleet has of NATS, be it one server or a cluster: what is done, is done to all servers. */
export interface NatsBroker {
  /** As WEBCAPTURE_NATS_URL takes it, with the user of tests. */
  readonly url: string;
  readonly pids: readonly number[];
  kill(signal?: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  start(): Promise<void>;
  restart(signal?: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
  logs(): string;
  /** What services tried that their users may not. */
  violations(): readonly string[];
}

/**
 * A real nats-server of a fleet, with a user for each service that may do what the chart lets it; its port and its folder stay the
 * same over restarts.
 */
export class Broker implements NatsBroker {
  readonly url: string;
  readonly #port: number;
  readonly #dataDir: string;
  readonly #toolPath: string;
  readonly #lines: string[];
  #server: NatsServer;

  private constructor(server: NatsServer, options: { dataDir: string; toolPath: string; lines: string[] }) {
    this.url = asTester(server.url);
    this.#port = server.port;
    this.#dataDir = options.dataDir;
    this.#toolPath = options.toolPath;
    this.#lines = options.lines;
    this.#server = server;
  }

  static async start(folder: string, toolPath: string): Promise<Broker> {
    const dataDir = join(folder, 'nats');
    const lines: string[] = [];
    // Not one that the server picks: that could be taken for an outgoing connection while it is down.
    const port = await freePort();
    const server = await startNats({ dataDir, toolPath, port, config: usersConfig, log: (line) => lines.push(line) });
    return new Broker(server, { dataDir, toolPath, lines });
  }

  get pids(): readonly number[] {
    return [this.#server.process.pid];
  }

  /** Ends the server, by default with SIGKILL: what it had handed to the kernel survives, unlike in a power cut. Returns when it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { process: server } = this.#server;
    server.kill(signal);
    await server.exited;
  }

  /** Sends a signal without waiting: SIGSTOP lets it hang, SIGCONT go on. */
  signal(signal: NodeJS.Signals): void {
    this.#server.process.kill(signal);
  }

  /** Starts it again at its old port and folder, after a kill. */
  async start(): Promise<void> {
    this.#server = await startNats({
      dataDir: this.#dataDir,
      toolPath: this.#toolPath,
      port: this.#port,
      config: usersConfig,
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
