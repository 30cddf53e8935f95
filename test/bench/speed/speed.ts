import { availableParallelism } from 'node:os';
import process from 'node:process';
import type { Fleet } from '../../harness/fleet.ts';
import { ensureTestTools, type ToolPaths } from '../../harness/tools.ts';
import { describeMachine } from '../machine.ts';
import { formatMarkdown, writeBlock } from '../markdown.ts';
import { benchFormats, type BenchFormat, type BenchTask, type Contender } from './contender.ts';
import { createAccount, fleetContender, startBenchFleet } from './fleet-contender.ts';
import {
  measureIdle,
  measureInTurns,
  perBlock,
  saturateInTurns,
  type SaturatedResult,
  type SaturationOptions,
  type SequentialResult,
} from './measure.ts';
import { benchPages, htmlPages, servePages } from './pages.ts';
import { configuredPeers } from './peer-contenders.ts';
import {
  isolationSaturatedTable,
  isolationSequentialTable,
  memoryTable,
  overviewTable,
  ownTimeTable,
  saturatedTable,
  sequentialTable,
  turnsTable,
  type Field,
  type Measured,
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
  /** Whether to write the tables to docs/benchmarks.md and docs/benchmarks/speed.md. */
  readonly write: boolean;
}

interface Plan {
  readonly blocks: number;
  readonly warmUps: number;
  readonly saturation: Omit<SaturationOptions, 'clients'>;
  readonly takes: (page: string, format: BenchFormat) => boolean;
}

const full: Plan = {
  blocks: 5,
  warmUps: 6,
  saturation: { rounds: 3, seconds: 4, minCaptures: 20 },
  takes: () => true,
};

/** A plan of two minutes on two idle cores. V8 compiles only a part of the contenders' code in this time. */
const quick: Plan = {
  blocks: 2,
  warmUps: 1,
  saturation: { rounds: 2, seconds: 1.5, minCaptures: 8 },
  takes: (page, format) => ['tiny png', 'tiny pdf', 'JS-heavy png', 'card png'].includes(`${page} ${format}`),
};

/** Measures captures of several pages in several formats with the whole service and with the other contenders. */
export async function benchSpeed(options: SpeedOptions): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools(say);
  const slots = availableParallelism();
  const plan = options.isQuick ? quick : full;
  const takes = (page: string, format: BenchFormat) =>
    plan.takes(page, format) && `${page} ${format}`.includes(options.only ?? '');

  const origin = await servePages(parts);
  const fleet = await startBenchFleet(parts, { tools, slots });
  const field = await startField(parts, fleet, { tools, slots });
  const tasks = tasksOf(benchPages, takes, (page) => ({ url: origin + page.path }));

  const machine = await describeMachine(tools);
  const text = [machine];
  const pages = tasks.length > 0 ? await measurePages(field, tasks, { plan, turns: options.turns, slots }) : undefined;
  text.push(...(pages?.tables ?? []));
  const htmlTasks = tasksOf(htmlPages, takes, ({ html }) => ({ url: '', html }));
  if (htmlTasks.length > 0)
    text.push(...(await measureIsolation(field, fleet, htmlTasks, { plan, slots, isolation: options.isolation })));

  const markdown = text.join('\n\n');
  process.stdout.write(`\n${await formatMarkdown(markdown)}`);
  if (!options.write) return;
  await writeBlock('speed', markdown);
  if (pages?.overview !== undefined) await writeBlock('overview', `${machine}\n\n${pages.overview}`);
}

interface MeasuredPages {
  /** The figures for a choice between the contenders; undefined without sequential captures in blocks. */
  readonly overview: string | undefined;
  readonly tables: readonly string[];
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

function tasksOf<P extends BenchTask['page']>(
  pages: readonly P[],
  takes: (page: string, format: BenchFormat) => boolean,
  source: (page: P) => Pick<BenchTask, 'url' | 'html'>,
): BenchTask[] {
  return pages.flatMap((page) =>
    benchFormats.flatMap((format) => (takes(page.name, format) ? [{ page, format, ...source(page) }] : [])),
  );
}

async function measurePages(
  field: Field,
  tasks: readonly BenchTask[],
  { plan, turns, slots }: { readonly plan: Plan; readonly turns: TurnsName; readonly slots: number },
): Promise<MeasuredPages> {
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
  return { overview: blocks.length > 0 ? overviewTable(field, blocks, saturated, slots) : undefined, tables };
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

/** Warms up the contenders: the first captures are slower. */
async function warmUp(contenders: readonly Contender[], tasks: readonly BenchTask[], { warmUps }: Plan): Promise<void> {
  for (const task of tasks) await measureInTurns(contenders, task, { perTurn: 1, rounds: warmUps });
}

function measureSequential(
  contenders: readonly Contender[],
  tasks: readonly BenchTask[],
  { plan, perTurn }: { readonly plan: Plan; readonly perTurn: number },
): Promise<Measured<SequentialResult>[]> {
  const rounds = (plan.blocks * perBlock) / perTurn;
  const measure = (task: BenchTask) => measureInTurns(contenders, task, { perTurn, rounds });
  return forEachTask(tasks, 'sequential', measure, ({ p50 }) => `${p50.toFixed(0)} ms`);
}

function measureSaturated(
  contenders: readonly Contender[],
  tasks: readonly BenchTask[],
  { plan, slots }: { readonly plan: Plan; readonly slots: number },
): Promise<Measured<SaturatedResult>[]> {
  const measure = (task: BenchTask) => saturateInTurns(contenders, task, { ...plan.saturation, clients: slots * 2 });
  return forEachTask(tasks, 'at saturation', measure, ({ perSecond }) => `${perSecond.toFixed(1)} per second`);
}

/** Measures each task and prints its results immediately, because a whole run takes nearly an hour. */
async function forEachTask<Result>(
  tasks: readonly BenchTask[],
  what: string,
  measure: (task: BenchTask) => Promise<Map<Contender, Result>>,
  describe: (result: Result) => string,
): Promise<Measured<Result>[]> {
  const rows: Measured<Result>[] = [];
  for (const task of tasks) {
    const results = await measure(task);
    const described = [...results].map(([{ name }, result]) => `${name} ${describe(result)}`);
    say(`${task.page.name} ${task.format}, ${what}: ${described.join(', ')}`);
    rows.push({ task, results });
  }
  return rows;
}

/** Prints progress to stderr; the tables are printed to stdout. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
