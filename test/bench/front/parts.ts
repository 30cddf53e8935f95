import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { startProcess } from '../../../deploy/local/process.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { freePort } from '../../harness/free-port.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';
import { provision } from '../../../services/controller/streams.ts';

/** The key of the account `demo` in every measured front. */
export const benchKey = 'a-key-for-measuring-only';

export interface BenchFront {
  readonly url: string;
  readonly part: ServiceProcess;
}

/** Starts a provisioned nats-server with a new data folder, and connects to it. */
export async function startQueue(parts: AsyncDisposableStack): Promise<NatsSession> {
  return (await startBenchNats(parts)).session;
}

/** Like {@link startQueue}, with the process id of the server. `config` contains additional lines of its configuration. */
export async function startBenchNats(
  parts: AsyncDisposableStack,
  config = '',
): Promise<{ readonly session: NatsSession; readonly pid: number }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => rm(dataDir, { recursive: true, force: true }));
  const tool = await ensureTool('nats-server', { log: (line) => process.stderr.write(`${line}\n`) });
  const nats = await startNats({ dataDir, toolPath: tool.path, config });
  parts.defer(async () => void (await nats.process.stop({ graceMs: 2000 })));
  const log = createLogger({ service: 'bench', pod: 'bench', level: 'fatal' });
  const session = await connectNats({ url: nats.url, name: 'bench', log, signal: AbortSignal.timeout(10_000) });
  parts.defer(() => session.nc.close());
  const maxBytes = {
    db: -1,
    live: -1,
    cache: 64 * 1024 * 1024,
    captures: -1,
    results: -1,
    tasks: -1,
    expiry: -1,
    dead: -1,
    files: -1,
  };
  await provision(session.jsm, { replicas: 1, maxBytes }, ['us-east']);
  return { session, pid: nats.process.pid };
}

/** Starts a front as a separate process. */
export async function startFront(
  parts: AsyncDisposableStack,
  natsUrl: string,
  env: NodeJS.ProcessEnv = {},
): Promise<BenchFront> {
  const port = await freePort();
  const front = await ServiceProcess.prepare('front', 'front', {
    PATH: process.env['PATH'] ?? '',
    PORT: String(port),
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_NATS_URL: natsUrl,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_API_KEY: benchKey,
    ...env,
  });
  await front.start();
  parts.defer(() => front.stop());
  return { url: `http://127.0.0.1:${port}`, part: front };
}

/** Starts the peer, which returns this JSON for every request; resolves to its address. */
export async function startPeer(parts: AsyncDisposableStack, answer: string): Promise<string> {
  let address = '';
  const peer = await startProcess({
    name: 'plain fastify',
    command: process.execPath,
    args: [fileURLToPath(new URL('plain-server.ts', import.meta.url)), answer],
    onLine: (line) => (address ||= line),
  });
  parts.defer(async () => void (await peer.stop({ graceMs: 0 })));
  return until('the peer to listen', () => address !== '' && address);
}
