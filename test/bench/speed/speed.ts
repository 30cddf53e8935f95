import { availableParallelism } from 'node:os';
import process from 'node:process';
import { ensureTestTools } from '../../harness/tools.ts';
import { benchFormats, type BenchTask, type Contender } from './contender.ts';
import { startFleetContender } from './fleet-contender.ts';
import { measureInTurn, saturate } from './measure.ts';
import { benchPages, servePages } from './pages.ts';
import { configuredPeers } from './peer-contenders.ts';
import { printSaturated, printSequential, type Measured } from './print-speed.ts';
import { startScriptContender } from './script-contender.ts';

const rounds = 15;
const secondsEach = 6;

/** Captures of several pages in several formats, by the whole service and by its peers, in one run. */
export async function benchSpeed(): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools((line) => process.stderr.write(`${line}\n`));
  const slots = availableParallelism();
  const origin = await servePages(parts);
  const { headlessShell } = tools;
  const fleet = await startFleetContender(parts, { tools, slots });
  const script = await startScriptContender(parts, { kind: 'script', headlessShell, spares: 0 });
  const floor = await startScriptContender(parts, { kind: 'floor', headlessShell, spares: slots + 1 });
  const contenders: readonly Contender[] = [fleet, script, floor, ...configuredPeers()];

  const tasks = benchPages.flatMap((page) =>
    benchFormats.map((format): BenchTask => ({ page, format, url: origin + page.path })),
  );
  // What runs for the first time is slower.
  for (const task of tasks) await measureInTurn(contenders, task, 2);

  const sequential: Measured<Awaited<ReturnType<typeof measureInTurn>>>[] = [];
  for (const task of tasks) sequential.push({ task, results: await measureInTurn(contenders, task, rounds) });
  printSequential({ fleet, script, floor, contenders }, sequential, rounds);

  const clients = slots * 2;
  const saturated: Measured<Map<Contender, Awaited<ReturnType<typeof saturate>>>>[] = [];
  for (const task of tasks) {
    const results = new Map();
    for (const contender of contenders)
      results.set(contender, await saturate(contender, task, { clients, seconds: secondsEach }));
    saturated.push({ task, results });
  }
  printSaturated({ fleet, script, floor, contenders }, saturated, { clients, slots, seconds: secondsEach });
}
