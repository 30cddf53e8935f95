import { availableParallelism } from 'node:os';
import process from 'node:process';
import { ensureTestTools } from '../../harness/tools.ts';
import { describeMachine } from '../machine.ts';
import { formatMarkdown, tableOf, writeBlock } from '../markdown.ts';
import type { BenchTask } from '../speed/contender.ts';
import { fleetContender, startBenchFleet } from '../speed/fleet-contender.ts';
import { saturateInTurns, settle, totalOf, type SaturatedResult } from '../speed/measure.ts';
import { benchPages, networkPage, servePages } from '../speed/pages.ts';
import { ownTimeOf } from '../speed/process-cost.ts';
import { inMebibytes } from '../speed/report.ts';

const slotsPerTwoCores = [1, 2, 3, 4] as const;

/** Measures a renderer with different numbers of slots for two cores, alternately: one renderer, restarted for each number. */
export async function benchSlots({ isQuick, write }: { isQuick: boolean; write: boolean }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const tools = await ensureTestTools(say);
  const cores = availableParallelism();
  const counts = [...new Set(slotsPerTwoCores.map((slots) => Math.max(1, Math.round((slots * cores) / 2))))];
  const rounds = isQuick ? 1 : 3;

  const origin = await servePages(parts);
  const pages = [...benchPages.filter(({ name }) => ['tiny', 'JS-heavy'].includes(name)), networkPage];
  const tasks = pages.map((page): BenchTask => ({ page, format: 'png', url: origin + page.path }));
  const fleet = await startBenchFleet(parts, { tools, slots: counts[0] ?? 1 });
  const [renderer] = fleet.renderers;
  if (renderer === undefined) throw new Error('The fleet has no renderer');
  const contender = fleetContender(fleet);
  const itsRenderer = { ...contender, processes: () => [{ part: 'renderer', pid: renderer.pid }] };

  const measured = new Map(counts.map((slots) => [slots, tasks.map((): SaturatedResult[] => [])]));
  for (let round = 0; round < rounds; round += 1) {
    for (const slots of round % 2 === 0 ? counts : counts.toReversed()) {
      say(`round ${round + 1}: ${slots} slots`);
      await renderer.restartWith({ WEBCAPTURE_SLOTS: String(slots) });
      await fleet.serving('us-east', 1);
      const options = { clients: slots * 2, rounds: 1, seconds: 6, minCaptures: 20 };
      for (const [index, task] of tasks.entries()) {
        // Warms up: the browsers run, and each has served some captures.
        await Promise.all(Array.from({ length: slots * 2 }, () => contender.capture(task)));
        await settle(contender);
        const result = (await saturateInTurns([itsRenderer], task, options)).get(itsRenderer);
        if (result !== undefined) measured.get(slots)?.[index]?.push(result);
      }
    }
  }

  const markdown = [
    await describeMachine(tools),
    `Captures per second of a renderer with twice as many clients as slots, png: median of ${rounds} (least to most), with the processor time of a capture and the cores in use, and the maximum memory of the renderer and its browsers:`,
    ratesTable(counts, tasks, measured),
    'Maximum memory by process (proportional set size):',
    memoryTable(counts, measured),
  ].join('\n\n');
  process.stdout.write(`\n${await formatMarkdown(markdown)}`);
  if (write) await writeBlock('slots', markdown);
}

type MeasuredSlots = ReadonlyMap<number, readonly (readonly SaturatedResult[])[]>;

function ratesTable(counts: readonly number[], tasks: readonly BenchTask[], measured: MeasuredSlots): string {
  const ratesOf = (slots: number, task: number) =>
    (measured.get(slots)?.[task] ?? []).map(({ perSecond }) => perSecond).toSorted((a, b) => a - b);
  const medianOf = (slots: number, task: number) => {
    const rates = ratesOf(slots, task);
    return rates[Math.floor(rates.length / 2)] ?? Number.NaN;
  };
  const rows = counts.map((slots) => [
    String(slots),
    ...tasks.map((_, task) => {
      const rates = ratesOf(slots, task);
      const times = (measured.get(slots)?.[task] ?? []).flatMap(({ time }) =>
        time === undefined ? [] : [ownTimeOf(time) + time.browsers],
      );
      const cpu = times.reduce((sum, ms) => sum + ms, 0) / times.length;
      const rate = medianOf(slots, task);
      // The rate and the time of a capture are printed, but other programs affect them more than the cores in use.
      const busy = `${((rate * cpu) / 1000).toFixed(2)} cores`;
      return `${rate.toFixed(1)} (${rates[0]?.toFixed(1)} to ${rates.at(-1)?.toFixed(1)}; ${cpu.toFixed(0)} ms, ${busy})`;
    }),
    inMebibytes(totalOf(largestOf(slots, measured))),
    inMebibytes(totalOf(largestOf(slots, measured)) / slots),
  ]);
  return tableOf(['slots', ...tasks.map(({ page }) => page.name), 'memory', 'memory per slot'], rows);
}

function memoryTable(counts: readonly number[], measured: MeasuredSlots): string {
  const kinds = [...new Set(counts.flatMap((slots) => [...largestOf(slots, measured).keys()]))];
  return tableOf(
    ['process', ...counts.map((slots) => (slots === 1 ? '1 slot' : `${slots} slots`))],
    kinds.map((kind) => [kind, ...counts.map((slots) => inMebibytes(largestOf(slots, measured).get(kind) ?? 0))]),
  );
}

function largestOf(slots: number, measured: MeasuredSlots): ReadonlyMap<string, number> {
  const all = (measured.get(slots) ?? []).flat().map(({ memory }) => memory);
  return all.toSorted((a, b) => totalOf(b) - totalOf(a))[0] ?? new Map();
}
