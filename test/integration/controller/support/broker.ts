import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { startNats, type NatsServer } from '../../../../deploy/local/nats.ts';
import { freePort } from '../../../harness/free-port.ts';
import { asTester, usersConfig } from '../../../harness/nats-users.ts';
import { silentLog } from '../../../harness/nats-session.ts';

/** A real nats-server without any stream, which can lose its disk. */
export class TestBroker {
  readonly url: string;
  #dataDir: string;
  #server: NatsServer;
  readonly #sessions: NatsSession[] = [];

  private constructor(dataDir: string, server: NatsServer) {
    this.#dataDir = dataDir;
    this.#server = server;
    this.url = asTester(server.url);
  }

  static async start(): Promise<TestBroker> {
    const dataDir = await newFolder();
    // The server must not pick the port itself, because another process could get such a port while the server is down.
    const port = await freePort();
    return new TestBroker(dataDir, await startServer(dataDir, port));
  }

  async connect(): Promise<NatsSession> {
    const signal = AbortSignal.timeout(30_000);
    const session = await connectNats({ url: this.url, name: 'test', log: silentLog, signal });
    this.#sessions.push(session);
    return session;
  }

  /** Kills the server, and starts it on the same port without any data. */
  async restartEmpty(): Promise<void> {
    this.#server.process.kill('SIGKILL');
    await this.#server.process.exited;
    await rm(this.#dataDir, { recursive: true, force: true });
    this.#dataDir = await newFolder();
    this.#server = await startServer(this.#dataDir, this.#server.port);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sessions.map(({ nc }) => nc.close()));
    await this.#server.process.stop({ graceMs: 0 });
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

const startServer = (dataDir: string, port: number) =>
  startNats({ dataDir, toolPath: inject('tools').natsServer, port, config: usersConfig });

const newFolder = () => mkdtemp(join(tmpdir(), 'webcapture-controller-'));
