import { setTimeout as sleep } from 'node:timers/promises';
import { percentilesOf, type Percentiles } from '../http-load.ts';
import type { BenchTask, Contender } from './contender.ts';
import { meanTime, memoryOf, ownTimeOf, processorTimeOf, timePer, type ProcessorTime } from './process-cost.ts';
import { capturesWithin, spreadOf, turnsOf, type Interval, type Spread, type Turns } from './turns.ts';

/** Number of consecutive captures in a block, for which a median is shown. */
export const perBlock = 12;

export interface SequentialResult extends Spread {
  /** Cost per capture, including deferred work; undefined if it was not measured. */
  readonly cost: SequentialCost | undefined;
}

interface SequentialCost {
  readonly time: ProcessorTime;
  /** The milliseconds per capture from the start of a turn until the processes are idle again. */
  readonly ms: number;
}

/** Times in milliseconds. */
export interface SaturatedResult extends Percentiles {
  readonly perSecond: number;
  /** Throughput of the slowest and of the fastest round. */
  readonly leastPerSecond: number;
  readonly mostPerSecond: number;
  /** Processor time per capture; undefined if the processes cannot be observed. */
  readonly time: ProcessorTime | undefined;
  /** Maximum memory in bytes, by kind of process. */
  readonly memory: ReadonlyMap<string, number>;
}

/**
 * Measures the contenders alternately, so that other load on the machine affects all of them. After a turn of several captures, waits until
 * the processes are idle, so that deferred work counts for its contender.
 */
export async function measureInTurns(
  contenders: readonly Contender[],
  task: BenchTask,
  turns: Turns,
): Promise<Map<Contender, SequentialResult>> {
  const isInBlocks = turns.perTurn > 1;
  const measured = new Map(
    contenders.map((contender) => [
      contender,
      { times: [] as number[], costs: [] as (SequentialCost & { captures: number })[] },
    ]),
  );
  for (const { contender, captures } of turnsOf(contenders, turns)) {
    const { times, costs } = measured.get(contender) ?? { times: [], costs: [] };
    const before = isInBlocks ? processorTimeOf(contender.processes()) : undefined;
    const begun = performance.now();
    for (let count = 0; count < captures; count += 1) {
      const start = performance.now();
      await contender.capture(task);
      times.push(performance.now() - start);
    }
    if (before === undefined) continue;
    await settle(contender);
    const after = processorTimeOf(contender.processes());
    const ms = (performance.now() - begun) / captures;
    costs.push({ time: timePer(before, after, captures), ms, captures });
  }
  return new Map(
    [...measured].map(([contender, { times, costs }]) => [
      contender,
      {
        ...spreadOf(times, perBlock),
        cost: contender.processes().length === 0 ? undefined : meanCost(costs),
      },
    ]),
  );
}

function meanCost(costs: readonly (SequentialCost & { readonly captures: number })[]): SequentialCost | undefined {
  const captures = costs.reduce((sum, cost) => sum + cost.captures, 0);
  const ms = costs.reduce((sum, cost) => sum + cost.ms * cost.captures, 0) / captures;
  return captures === 0 ? undefined : { time: meanTime(costs), ms };
}

const idleMs = 5000;

/** Measures the processor time per millisecond that the processes use without captures. */
export async function measureIdle(contenders: readonly Contender[]): Promise<ReadonlyMap<Contender, ProcessorTime>> {
  for (const contender of contenders) await settle(contender);
  const read = () => contenders.map((contender) => processorTimeOf(contender.processes()));
  const start = performance.now();
  const before = read();
  await sleep(idleMs);
  const after = read();
  const elapsed = performance.now() - start;
  return new Map(
    contenders.map((contender, index) => [
      contender,
      timePer(before[index] ?? noTime, after[index] ?? noTime, elapsed),
    ]),
  );
}

const noTime: ProcessorTime = { own: {}, browsers: 0 };

/** Share of a processor below which processes count as idle, the interval of the check, and its maximum duration. */
const rest = { share: 0.1, ms: 150, maxMs: 5000 } as const;

/** Waits until the processes of a contender are idle, or for one interval if they cannot be observed. */
export async function settle({ processes }: Pick<Contender, 'processes'>): Promise<void> {
  const timeOf = () => {
    const time = processorTimeOf(processes());
    return time.browsers + ownTimeOf(time);
  };
  const end = performance.now() + rest.maxMs;
  for (let before = timeOf(); performance.now() < end;) {
    await sleep(rest.ms);
    const after = timeOf();
    // The sum decreases when a process ends and its parent has not waited for it.
    if (Math.abs(after - before) <= rest.share * rest.ms) return;
    before = after;
  }
}

export interface SaturationOptions {
  readonly clients: number;
  readonly rounds: number;
  /** Minimum duration of a round. A round continues until it has enough captures. */
  readonly seconds: number;
  readonly minCaptures: number;
}

/** Runs concurrent clients, each of which sends its next request after a response. The contenders alternate by round. */
export async function saturateInTurns(
  contenders: readonly Contender[],
  task: BenchTask,
  options: SaturationOptions,
): Promise<Map<Contender, SaturatedResult>> {
  const rounds = new Map(contenders.map((contender) => [contender, [] as SaturatedRound[]]));
  for (const { contender } of turnsOf(contenders, { perTurn: 1, rounds: options.rounds })) {
    rounds.get(contender)?.push(await saturate(contender, task, options));
    await settle(contender);
  }
  return new Map([...rounds].map(([contender, of]) => [contender, resultOf(of)]));
}

interface SaturatedRound {
  readonly times: readonly number[];
  readonly captures: number;
  readonly ms: number;
  readonly time: ProcessorTime | undefined;
  readonly memory: ReadonlyMap<string, number>;
}

/**
 * Measures while all clients have a capture in progress: from the first result of the last client until there are enough captures. The
 * clients continue until their captures in progress at that moment are complete, so that the last captures are not faster than the others.
 */
async function saturate(
  contender: Contender,
  task: BenchTask,
  { clients, seconds, minCaptures }: SaturationOptions,
): Promise<SaturatedRound> {
  const captures: Interval[] = [];
  let started = 0;
  let stopped = 0;
  let window: Interval = { start: Number.POSITIVE_INFINITY, end: Number.POSITIVE_INFINITY };
  let [before, after] = [processorTimeOf(contender.processes()), undefined as ProcessorTime | undefined];
  let memory: ReadonlyMap<string, number> = new Map();
  // Reading the memory of a process takes milliseconds.
  const watch = setInterval(() => {
    const now = memoryOf(contender.processes());
    if (totalOf(now) > totalOf(memory)) memory = now;
  }, 1000);
  const client = async () => {
    let isFirst = true;
    while (stopped < clients) {
      const start = performance.now();
      await contender.capture(task);
      const end = performance.now();
      captures.push({ start, end });
      if (isFirst && ++started === clients) {
        window = { start: end, end: Number.POSITIVE_INFINITY };
        before = processorTimeOf(contender.processes());
      }
      isFirst = false;
      const isEnough = end - window.start >= seconds * 1000 && captures.length >= minCaptures + clients;
      if (window.end === Number.POSITIVE_INFINITY && isEnough) {
        window = { start: window.start, end };
        after = processorTimeOf(contender.processes());
      }
      if (start < window.end && end >= window.end) stopped += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    clearInterval(watch);
  }
  const counted = capturesWithin(captures, window);
  return {
    times: captures.filter(({ end }) => end > window.start && end <= window.end).map(({ start, end }) => end - start),
    captures: counted,
    ms: window.end - window.start,
    time: after && contender.processes().length > 0 ? timePer(before, after, counted) : undefined,
    memory,
  };
}

function resultOf(rounds: readonly SaturatedRound[]): SaturatedResult {
  const sum = (of: (round: SaturatedRound) => number) => rounds.reduce((total, round) => total + of(round), 0);
  const rates = rounds.map(({ captures, ms }) => (captures / ms) * 1000);
  const costs = rounds.flatMap(({ time, captures }) => (time === undefined ? [] : [{ time, captures }]));
  const [largest] = rounds.map(({ memory }) => memory).toSorted((a, b) => totalOf(b) - totalOf(a));
  return {
    ...percentilesOf(rounds.flatMap(({ times }) => times)),
    perSecond: (sum(({ captures }) => captures) / sum(({ ms }) => ms)) * 1000,
    leastPerSecond: Math.min(...rates),
    mostPerSecond: Math.max(...rates),
    time: costs.length === 0 ? undefined : meanTime(costs),
    memory: largest ?? new Map(),
  };
}

export function totalOf(memory: ReadonlyMap<string, number>): number {
  return [...memory.values()].reduce((sum, bytes) => sum + bytes, 0);
}
