import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { loadOf, percentilesOf } from '../http-load.ts';
import { benchKey, startFront, startPeer, startQueue } from './parts.ts';
import { printRows, type Row } from './print-rows.ts';

const body = JSON.stringify({ url: 'https://example.com/' });
const headers = { 'content-type': 'application/json', authorization: `Bearer ${benchKey}` };
const seconds = 5;
const slots = 8;
/**
 * Renderer time of the measurement. With a renderer that takes no time, NATS would be the bottleneck: 8 concurrent captures would wait for
 * each other's writes.
 */
const measured = [
  { connections: 1, renderMs: 0 },
  { connections: slots, renderMs: 0 },
  { connections: slots, renderMs: 250 },
];
/** The number of newest request lines that are read; a service process keeps 2,000 lines. */
const linesRead = 1500;

/** Measures the front's own time of a capture: all but the wait for the renderer. */
export async function benchOwnTime(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const front = await startFront(parts, session.nc.getServer());
  const renderer = new StandInRenderer(session, 'us-east');
  await renderer.start(slots);
  parts.defer(() => renderer.stop());

  const answer = await until('a capture', async () => {
    const response = await fetch(`${front.url}/capture`, { method: 'POST', headers, body });
    return response.ok && response.text();
  });
  const peer = await startPeer(parts, answer);
  const load = (url: string, connections: number, time = seconds) =>
    loadOf({ url, path: '/capture', headers, body, connections, seconds: time });
  // The first captures are slower.
  await load(front.url, slots, 2);
  const rows: Row[] = [];
  for (const { connections, renderMs } of measured) {
    const at = connections === 1 ? 'sequential' : `${connections} concurrent`;
    renderer.behavior = async (job, self) => {
      if (renderMs > 0) await delay(renderMs);
      await self.complete(job);
    };
    const whole = await load(front.url, connections);
    const own = ownTimes(front.part.logs()).slice(-Math.min(linesRead, Math.floor(whole.perSecond * seconds * 0.9)));
    rows.push({ name: `plain fastify route, ${at}`, result: await load(peer, connections, 2) });
    rows.push({ name: `captures that render in ${renderMs} ms, ${at}`, result: whole });
    rows.push({ name: `  front's own time`, result: percentilesOf(own), goal: 'p99 under 10 ms' });
  }
  printRows(`Captures with a renderer without a browser: ${seconds} s each`, rows);
}

/** Returns the own time of each completed capture request in the log, in milliseconds. */
function ownTimes(log: string): number[] {
  return log
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as { route: string; ownMs: number })
    .filter(({ route }) => route === '/capture')
    .map(({ ownMs }) => ownMs);
}
