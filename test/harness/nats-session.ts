import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { regions, type Region } from '@webcapture/shared/runtime/regions.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { startNats, type NatsServer } from '../../deploy/local/nats.ts';
import { freePort } from './free-port.ts';
import { asTester, usersConfig } from './nats-users.ts';
import { provision, type StreamSettings } from '../../services/controller/streams.ts';

export const streamSettings: StreamSettings = {
  replicas: 1,
  maxBytes: {
    db: -1,
    live: -1,
    cache: 16 * 1024 * 1024,
    captures: -1,
    results: -1,
    tasks: -1,
    expiry: -1,
    dead: -1,
    files: -1,
  },
};

export const silentLog = createLogger({ service: 'test', pod: 'test', level: 'fatal' });

export interface TestNats extends AsyncDisposable {
  readonly session: NatsSession;
  readonly url: string;
  /** Another connection, as from another process. */
  connect(): Promise<NatsSession>;
  /** Kills the server with SIGKILL and starts it again on the same port and data. */
  restart(): Promise<void>;
  /** Kills the server with SIGKILL. */
  kill(): Promise<void>;
  /** Starts a killed server again on the same port and data. */
  start(): Promise<void>;
  /** Deletes the data of a server that was killed. */
  wipe(): Promise<void>;
}

/** A real nats-server with a new data folder, connected and provisioned. */
export async function startTestNats(installed: readonly Region[] = regions): Promise<TestNats> {
  const dataDir = await mkdtemp(join(inject('tempFolder'), 'nats-'));
  // The port must not be ephemeral, because an outgoing connection could take it while the server is down.
  const port = await freePort();
  const startServer = () => startNats({ dataDir, toolPath: inject('tools').natsServer, port, config: usersConfig });
  let current: NatsServer = await startServer();
  const url = asTester(current.url);
  const connections: NatsSession[] = [];
  const connect = async () => {
    const session = await connectNats({
      url,
      name: 'test',
      log: silentLog,
      signal: AbortSignal.timeout(30_000),
    });
    connections.push(session);
    return session;
  };
  const session = await connect();
  await provision(session.jsm, streamSettings, installed);
  const kill = async () => {
    current.process.kill('SIGKILL');
    await current.process.exited;
  };
  const start = async () => {
    current = await startServer();
  };
  return {
    session,
    url,
    connect,
    kill,
    start,
    wipe: () => rm(dataDir, { recursive: true, force: true }),
    async restart() {
      await kill();
      await start();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(connections.map(({ nc }) => nc.close()));
      await current.process.stop({ graceMs: 2000 });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
