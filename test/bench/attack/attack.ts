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
/** As long as a simple page takes. The less it is, the more of a capture is the front's own time. */
const renderMs = 250;
const quietSeconds = 20;
const attackers = 20;
const attackSeconds = 60;

/** What clients without a key cost a client with one: its captures while nobody else is there, and under their attack. */
export async function benchAttack(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const session = await startQueue(parts);
  const front = await startFront(parts, session.nc.getServer());
  const renderer = new StandInRenderer(session, 'us-east');
  renderer.behaviour = async (job, self) => {
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

  printRows(`A client with a key beside ${attackers} without one that attack for ${attackSeconds} s`, [
    { name: 'captures, quiet', result: quiet },
    { name: 'captures, attacked', result: attacked, goal: 'p99 at most twice the quiet one' },
  ]);
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
  process.stdout.write(
    `p99 ${(attacked.p99 / quiet.p99).toFixed(2)} times the quiet one. ` +
      `Memory of the front: ${megabytes(before.now)} MB before, ${megabytes(after.most)} MB at most   goal: under 400 MB\n` +
      `Answers to the attackers: ${JSON.stringify(attack.answers())}\n`,
  );
}
