import { availableParallelism } from 'node:os';
import process from 'node:process';
import { ensureTestTools } from '../../harness/tools.ts';
import { percentilesOf } from '../http-load.ts';
import { describeMachine } from '../machine.ts';
import { noteGoal } from '../goals.ts';
import { formatMarkdown, tableOf } from '../markdown.ts';
import type { BenchTask, Contender } from '../speed/contender.ts';
import { fleetContender, postCapture, startBenchFleet } from '../speed/fleet-contender.ts';
import { measureIdle, measureInTurns, perBlock } from '../speed/measure.ts';
import { benchPages, noisePage, servePages } from '../speed/pages.ts';
import { ownTimeOf, type ProcessorTime, withoutIdle } from '../speed/process-cost.ts';

/** Goals for the own processor time of a capture, in milliseconds. */
const goals = { largeFile: 80, tiny: 25 } as const;

/**
 * Measures the processor time of captures whose file has 5 MB, by process: a picture of noise, for which the service does little else, and
 * a long page. The tiny page, whose file has 10 KB, shows what does not depend on the file.
 */
export async function benchFiles({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools((line) => process.stderr.write(`${line}\n`));
  const origin = await servePages(parts);
  const fleet = await startBenchFleet(parts, { tools, slots: availableParallelism() });
  const file = { ...fleetContender(fleet), name: 'file' };
  const json: Contender = { ...file, name: 'json', capture: (task) => postCapture(fleet, task, 'json') };
  const contenders = [file, json];
  const pages = [noisePage, ...benchPages.filter(({ name }) => ['12,000 px', 'tiny'].includes(name))];
  const pictures = pages.map((page): BenchTask => ({ page, format: 'png', url: origin + page.path }));
  const documents = pictures
    .filter(({ page }) => page.name === 'tiny')
    .map((task): BenchTask => ({ ...task, format: 'pdf' }));
  const tasks = [...pictures, ...documents];

  // Warms up: the first captures are slower.
  for (const task of tasks) await measureInTurns(contenders, task, { perTurn: perBlock, rounds: 1 });
  const idle = await measureIdle(contenders);
  const blocks = isQuick ? 1 : 5;
  const costs = new Map(tasks.map((task) => [task, contenders.map((): ProcessorTime[] => [])]));
  for (let block = 0; block < blocks; block += 1) {
    for (const task of tasks) {
      const results = await measureInTurns(contenders, task, { perTurn: perBlock, rounds: 1 });
      for (const [index, contender] of contenders.entries()) {
        const [cost, atRest] = [results.get(contender)?.cost, idle.get(contender)];
        if (cost && atRest) costs.get(task)?.[index]?.push(withoutIdle(cost.time, atRest, cost.ms));
      }
    }
  }

  const kinds = [...new Set(file.processes().map(({ part }) => part))];
  const columns: readonly ((time: ProcessorTime) => number)[] = [
    ...kinds.map(
      (kind) =>
        ({ own }: ProcessorTime) =>
          own[kind] ?? Number.NaN,
    ),
    ownTimeOf,
    ({ browsers }) => browsers,
  ];
  const rows = tasks.flatMap((task) =>
    contenders.map(({ name }, index) => {
      const median = (of: (time: ProcessorTime) => number) =>
        percentilesOf((costs.get(task)?.[index] ?? []).map(of)).p50;
      const title = `${task.page.name}, ${task.format}`;
      const goal = task.page.name === 'tiny' ? goals.tiny : goals.largeFile;
      noteGoal(`own processor time, ${title}, response ${name}`, median(ownTimeOf), goal, ' ms');
      return [title, name, ...columns.map((of) => median(of).toFixed(0)), `at most ${goal}`];
    }),
  );
  const text = [
    await describeMachine(tools),
    `Own processor time of a capture whose file has 5 MB, by process, without the idle share: ms, median of the blocks (${blocks} of ${perBlock} captures each), embedded store:`,
    tableOf(['page', 'response', ...kinds, 'own part', 'Chromium', 'goal, own part'], rows),
  ].join('\n\n');
  process.stdout.write(`\n${await formatMarkdown(text)}`);
}
