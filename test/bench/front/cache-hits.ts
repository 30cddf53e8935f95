import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { provision } from '@webcapture/shared/nats/provision.ts';
import { createLogger } from '@webcapture/shared/telemetry/logger.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { startProcess } from '../../../deploy/local/process.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { freePort } from '../../harness/free-port.ts';
import { ServicePart } from '../../harness/part.ts';
import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../unit/front/stand-in-renderer.ts';
import { loadOf, type LoadResult } from '../http-load.ts';

const key = 'a-key-for-measuring-only';
const body = JSON.stringify({ url: 'https://example.com/', responseCache: { enabled: true } });
const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
const connections = 32;
const seconds = 5;

/** Cache hits of one front (one process, so one core), beside a plain fastify route that answers the same bytes. */
export async function benchCacheHits(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const url = await startFront(parts, session.nc.getServer());
  const renderer = new StandInRenderer(session, 'us-east');
  await renderer.start();
  parts.defer(() => renderer.stop());

  const post = () => fetch(`${url}/capture`, { method: 'POST', headers, body });
  const answer = await until('a hit', async () => {
    const text = await (await post()).text();
    return text.includes('"fromCache":true') && text;
  });
  const peer = await startPeer(parts, answer);

  const measure = (base: string) => loadOf({ url: base, path: '/capture', headers, body, connections, seconds });
  // What runs for the first time is slower.
  await loadOf({ url, path: '/capture', headers, body, connections, seconds: 1 });
  const plain = await measure(peer);
  const hits = await measure(url);
  const plainAgain = await measure(peer);
  print([
    ['plain fastify route', plain],
    ['cache hits', hits],
    ['plain fastify route', plainAgain],
  ]);
  if (renderer.jobs.length !== 1) throw new Error(`${renderer.jobs.length} captures were rendered, not one`);
}

async function startQueue(parts: AsyncDisposableStack): Promise<NatsSession> {
  const dataDir = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => rm(dataDir, { recursive: true, force: true }));
  const tool = await ensureTool('nats-server', { log: (line) => process.stderr.write(`${line}\n`) });
  const nats = await startNats({ dataDir, toolPath: tool.path });
  parts.defer(async () => void (await nats.process.stop({ graceMs: 2000 })));
  const log = createLogger({ service: 'bench', pod: 'bench', level: 'fatal' });
  const session = await connectNats({ url: nats.url, name: 'bench', log, signal: AbortSignal.timeout(10_000) });
  parts.defer(() => session.nc.close());
  const maxBytes = { db: -1, live: -1, cache: 64 * 1024 * 1024, captures: -1, tasks: -1, dead: -1, files: -1 };
  await provision(session.jsm, { replicas: 1, maxBytes }, ['us-east']);
  return session;
}

async function startFront(parts: AsyncDisposableStack, natsUrl: string): Promise<string> {
  const port = await freePort();
  const front = await ServicePart.prepare('front', 'front', {
    PATH: process.env['PATH'] ?? '',
    PORT: String(port),
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_NATS_URL: natsUrl,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_API_KEY: key,
  });
  await front.start();
  parts.defer(() => front.stop());
  return `http://127.0.0.1:${port}`;
}

async function startPeer(parts: AsyncDisposableStack, answer: string): Promise<string> {
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

function print(rows: readonly (readonly [string, LoadResult])[]): void {
  process.stdout.write(`\n${connections} connections, ${seconds} s each\n`);
  for (const [name, { perSecond, p50, p99, max }] of rows) {
    const ms = [p50, p99, max].map((time) => time.toFixed(1).padStart(7));
    process.stdout.write(
      `${name.padEnd(22)} ${perSecond.toFixed(0).padStart(7)} a second   p50${ms[0]}  p99${ms[1]}  max${ms[2]} ms\n`,
    );
  }
}
