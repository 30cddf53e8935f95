import { availableParallelism } from 'node:os';
import process from 'node:process';
import type { Fleet } from '../../harness/fleet.ts';
import { ensureTestTools, type ToolPaths } from '../../harness/tools.ts';
import { describeMachine } from '../machine.ts';
import { formatMarkdown, writeBlock } from '../markdown.ts';
import type { BenchTask } from './contender.ts';
import { createAccount, fleetContender, startBenchFleet } from './fleet-contender.ts';
import { measureIdle, perBlock } from './measure.ts';
import { benchPages, htmlPages, servePages } from './pages.ts';
import { configuredPeers } from './peer-contenders.ts';
import { measureSaturated, measureSequential, planOf, say, tasksOf, warmUp, type Plan } from './plan.ts';
import {
  isolationSaturatedTable,
  isolationSequentialTable,
  memoryTable,
  ownTimeTable,
  saturatedTable,
  sequentialTable,
  turnsTable,
  type Field,
} from './report.ts';
import { startScriptContender } from './script-contender.ts';

export const turnsNames = ['block', 'capture', 'both'] as const;
export type TurnsName = (typeof turnsNames)[number];

export interface SpeedOptions {
  readonly turns: TurnsName;
  readonly isQuick: boolean;
  /** Selects the tasks whose page and format contain this text, e.g. `tiny png`. */
  readonly only?: string | undefined;
  /** The isolation of the account whose HTML is captured. */
  readonly isolation: string;
  /** Whether to write the tables to docs/benchmarks/speed.md. */
  readonly write: boolean;
}

/** Measures captures of several pages in several formats with the whole service and with the other contenders. */
export async function benchSpeed(options: SpeedOptions): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools(say);
  const slots = availableParallelism();
  const plan = planOf(options);

  const origin = await servePages(parts);
  const fleet = await startBenchFleet(parts, { tools, slots });
  const field = await startField(parts, fleet, { tools, slots });
  const tasks = tasksOf(benchPages, plan, (page) => ({ url: origin + page.path }));

  const text = [await describeMachine(tools)];
  if (tasks.length > 0) text.push(...(await measurePages(field, tasks, { plan, turns: options.turns, slots })));
  const htmlTasks = tasksOf(htmlPages, plan, ({ html }) => ({ url: '', html }));
  if (htmlTasks.length > 0)
    text.push(...(await measureIsolation(field, fleet, htmlTasks, { plan, slots, isolation: options.isolation })));

  const markdown = text.join('\n\n');
  process.stdout.write(`\n${await formatMarkdown(markdown)}`);
  if (options.write) await writeBlock('speed', markdown);
}

async function startField(
  parts: AsyncDisposableStack,
  fleet: Fleet,
  { tools, slots }: { readonly tools: ToolPaths; readonly slots: number },
): Promise<Field> {
  const start = (kind: 'script' | 'floor' | 'protocol', spares = 0) =>
    startScriptContender(parts, { kind, headlessShell: tools.headlessShell, spares });
  const own = fleetContender(fleet);
  const script = await start('script');
  const floor = await start('floor', slots + 1);
  const protocol = await start('protocol');
  return { fleet: own, script, floor, protocol, contenders: [own, script, floor, protocol, ...configuredPeers()] };
}

async function measurePages(
  field: Field,
  tasks: readonly BenchTask[],
  { plan, turns, slots }: { readonly plan: Plan; readonly turns: TurnsName; readonly slots: number },
): Promise<readonly string[]> {
  const { contenders } = field;
  await warmUp(contenders, tasks, plan);
  const idle = await measureIdle(contenders);
  const blocks = turns === 'capture' ? [] : await measureSequential(contenders, tasks, { plan, perTurn: perBlock });
  const captures = turns === 'block' ? [] : await measureSequential(contenders, tasks, { plan, perTurn: 1 });
  const count = plan.blocks * perBlock;
  const tables: string[] = [];
  if (blocks.length > 0) {
    tables.push(
      `Sequential captures, the contenders alternate after blocks of ${perBlock}: ms, p50 (lowest to highest p50 of a block) / p99 of ${count} captures each:`,
      sequentialTable(field, blocks),
    );
  }
  if (captures.length > 0) {
    tables.push(
      `Sequential captures, the contenders alternate after each, so that the deferred work of one slows down the next: ms, p50 (lowest to highest p50 of ${perBlock}) / p99 of ${count} captures each:`,
      sequentialTable(field, captures),
    );
  }
  if (blocks.length > 0 && captures.length > 0) tables.push('Both ways compared:', turnsTable(field, blocks, captures));

  const saturated = await measureSaturated(contenders, tasks, { plan, slots });
  tables.push(
    `${saturationTitle(plan, slots)}:`,
    saturatedTable(field, saturated),
    'Maximum memory per slot, of all processes (proportional set size):',
    memoryTable(contenders, saturated, slots),
  );
  if (blocks.length > 0) {
    tables.push(
      'Processor time of a sequential capture in ms, in blocks, including deferred work and without the idle share: by process of the service, and of Chromium:',
      ownTimeTable(field, blocks, idle),
    );
  }
  return tables;
}

/**
 * Measures an account that supplies its own HTML, with the default isolation and with the requested one. Also measures Chromium without a
 * driver, which reuses its pages and replaces only the document.
 */
async function measureIsolation(
  { fleet: own, script, protocol }: Field,
  fleet: Fleet,
  tasks: readonly BenchTask[],
  { plan, slots, isolation }: { readonly plan: Plan; readonly slots: number; readonly isolation: string },
): Promise<string[]> {
  const account = await createAccount(fleet, isolation);
  if ('refused' in account)
    return [`Isolation \`${isolation}\`: not measured. The service refused it: ${account.refused}`];
  const others = [
    { ...protocol, name: 'protocol, page kept' },
    { ...own, name: 'context' },
    fleetContender(fleet, { name: isolation, key: account.key }),
  ];
  const contenders = [script, ...others];
  await warmUp(contenders, tasks, plan);
  const sequential = await measureSequential(contenders, tasks, { plan, perTurn: perBlock });
  const saturated = await measureSaturated(contenders, tasks, { plan, slots });
  return [
    `HTML of the request, by accounts with isolation \`context\` and \`${isolation}\`, sequential captures in blocks: ms, p50 (lowest to highest p50 of a block) / p99:`,
    isolationSequentialTable({ script, others }, sequential),
    `The same, ${saturationTitle(plan, slots)}:`,
    isolationSaturatedTable({ script, others }, saturated),
  ];
}

function saturationTitle({ saturation }: Plan, slots: number): string {
  return `${slots * 2} concurrent clients on ${slots} cores: captures per second (slowest to fastest of ${saturation.rounds} rounds; p50 / p99 of a capture, its processor time)`;
}
