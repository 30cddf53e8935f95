import process from 'node:process';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { memoryOf, startAttack } from '../../harness/attack.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { benchKey, startFront, startQueue } from '../front/parts.ts';
import { printRows } from '../front/print-rows.ts';
import { loadOf } from '../http-load.ts';

const body = JSON.stringify({ url: 'https://example.com/' });
const headers = { 'content-type': 'application/json', authorization: `Bearer ${benchKey}` };
const slots = 2;
/** The render time of a simple page. With a shorter time, the front's own time is a larger share of a capture. */
const renderMs = 250;
const quietSeconds = 20;
const attackers = 20;
const attackSeconds = 60;

/** Measures the captures of a client with a key without an attack, and during an attack by clients without a key. */
export async function benchAttack(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const front = await startFront(parts, session.nc.getServer());
  const renderer = new StandInRenderer(session, 'us-east');
  renderer.behavior = async (job, self) => {
    await delay(renderMs);
    await self.complete(job);
  };
  await renderer.start(slots);
  parts.defer(() => renderer.stop());
  const post = () => fetch(`${front.url}/capture`, { method: 'POST', headers, body });
  await until('a capture', async () => (await post()).ok);

  const load = (seconds: number) =>
    loadOf({ url: front.url, path: '/capture', headers, body, connections: slots, seconds });
  await load(2);
  const quiet = await load(quietSeconds);
  const before = await memoryOf(front.part.pid);
  const attack = parts.use(await startAttack(front.url, attackers));
  await until('the attack to begin', () => attack.answers()['401']);
  const attacked = await load(attackSeconds);
  const after = await memoryOf(front.part.pid);

  printRows(`A client with a key during an attack by ${attackers} clients without one, ${attackSeconds} s`, [
    { name: 'captures without an attack', result: quiet },
    { name: 'captures during the attack', result: attacked, goal: 'p99 at most twice that without an attack' },
  ]);
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
  process.stdout.write(
    `p99 ${(attacked.p99 / quiet.p99).toFixed(2)} times that without an attack. ` +
      `Memory of the front: ${megabytes(before.now)} MB before, ${megabytes(after.most)} MB maximum   goal: under 400 MB\n` +
      `Responses to the attackers: ${JSON.stringify(attack.answers())}\n`,
  );
}
