import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { loadOf } from '../http-load.ts';
import { benchKey, startFront, startPeer, startQueue } from './parts.ts';
import { printRows } from './print-rows.ts';

const body = JSON.stringify({ url: 'https://example.com/', responseCache: { enabled: true } });
const headers = { 'content-type': 'application/json', authorization: `Bearer ${benchKey}` };
const connections = 32;
const seconds = 5;

/** Measures cache hits of one front (one process, so one core), and a plain fastify route that returns the same bytes. */
export async function benchCacheHits(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const { url } = await startFront(parts, session.nc.getServer());
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
  // The first requests are slower.
  await loadOf({ url, path: '/capture', headers, body, connections, seconds: 1 });
  const plain = await measure(peer);
  const hits = await measure(url);
  const plainAgain = await measure(peer);
  printRows(`Cache hits: ${connections} connections, ${seconds} s each`, [
    { name: 'plain fastify route', result: plain },
    { name: 'cache hits', result: hits, goal: '5000 per second, p99 under 20 ms' },
    { name: 'plain fastify route', result: plainAgain },
  ]);
  if (renderer.jobs.length !== 1) throw new Error(`${renderer.jobs.length} captures were rendered, not one`);
}
