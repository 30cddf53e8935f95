import process from 'node:process';
import { benchFormats, type BenchFormat, type BenchTask, type Contender } from './contender.ts';
import {
  measureInTurns,
  perBlock,
  saturateInTurns,
  type SaturatedResult,
  type SaturationOptions,
  type SequentialResult,
} from './measure.ts';
import type { Measured } from './report.ts';

/** Which captures are measured, and how often. */
export interface Plan {
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

/** @param only selects the tasks whose page and format contain this text, e.g. `tiny png` */
export function planOf({
  isQuick,
  only = '',
}: {
  readonly isQuick: boolean;
  readonly only?: string | undefined;
}): Plan {
  const plan = isQuick ? quick : full;
  return { ...plan, takes: (page, format) => plan.takes(page, format) && `${page} ${format}`.includes(only) };
}

export function tasksOf<P extends BenchTask['page']>(
  pages: readonly P[],
  { takes }: Pick<Plan, 'takes'>,
  source: (page: P) => Pick<BenchTask, 'url' | 'html'>,
): BenchTask[] {
  return pages.flatMap((page) =>
    benchFormats.flatMap((format) => (takes(page.name, format) ? [{ page, format, ...source(page) }] : [])),
  );
}

/** Warms up the contenders: the first captures are slower. */
export async function warmUp(
  contenders: readonly Contender[],
  tasks: readonly BenchTask[],
  { warmUps }: Plan,
): Promise<void> {
  for (const task of tasks) await measureInTurns(contenders, task, { perTurn: 1, rounds: warmUps });
}

export function measureSequential(
  contenders: readonly Contender[],
  tasks: readonly BenchTask[],
  { plan, perTurn }: { readonly plan: Plan; readonly perTurn: number },
): Promise<Measured<SequentialResult>[]> {
  const rounds = (plan.blocks * perBlock) / perTurn;
  const measure = (task: BenchTask) => measureInTurns(contenders, task, { perTurn, rounds });
  return forEachTask(tasks, 'sequential', measure, ({ p50 }) => `${p50.toFixed(0)} ms`);
}

export function measureSaturated(
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
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
