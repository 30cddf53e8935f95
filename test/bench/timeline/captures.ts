import { percentilesOf } from '../http-load.ts';
import type { Interval } from '../speed/turns.ts';

/** The steps of a request in order. `request` and `response` are what the client measures before and after the steps of the report. */
export const steps = [
  'request',
  'queue',
  'open',
  'navigate',
  'settle',
  'shoot',
  'store',
  'result',
  'answer',
  'response',
] as const;
export type Step = (typeof steps)[number];

/** The steps during which a capture has a slot. */
export const slotSteps: readonly Step[] = ['open', 'navigate', 'settle', 'shoot'];

/** A capture with the time of each step in milliseconds. Its start and end are those of the client. */
export interface TimedCapture extends Interval {
  readonly times: Readonly<Record<Step, number>>;
}

/** Returns the interval of each step of a capture. */
export function intervalsOf({ start, times }: TimedCapture): ReadonlyMap<Step, Interval> {
  let from = start;
  return new Map(
    steps.map((step) => {
      const interval = { start: from, end: from + times[step] };
      from = interval.end;
      return [step, interval];
    }),
  );
}

/** Returns the interval of the first to the last of the steps. */
export function spanOf(capture: TimedCapture, [first, ...others]: readonly Step[]): Interval {
  const intervals = intervalsOf(capture);
  const boundOf = (step: Step | undefined) => intervals.get(step ?? 'request') ?? capture;
  return { start: boundOf(first).start, end: boundOf(others.at(-1) ?? first).end };
}

/** A row of the timeline: the captures of a slot, which do not overlap. */
export interface SlotRow {
  readonly name: string;
  readonly captures: readonly TimedCapture[];
}

/**
 * Assigns each capture of a renderer to one of its slots. Reports do not name the slot, so a capture gets the slot that has been free for
 * longest. The slots of a renderer are equal, so the rows are right up to their order.
 */
export function slotRowsOf(captures: readonly TimedCapture[], slots: number): SlotRow[] {
  const rows = Array.from({ length: slots }, (_, slot) => ({
    name: `slot ${slot + 1}`,
    captures: [] as TimedCapture[],
    freeFrom: Number.NEGATIVE_INFINITY,
  }));
  const rendered = captures.map((capture) => ({ capture, ...spanOf(capture, slotSteps) }));
  for (const { capture, end } of rendered.toSorted((a, b) => a.start - b.start)) {
    const row = rows.reduce((free, other) => (other.freeFrom < free.freeFrom ? other : free));
    row.captures.push(capture);
    row.freeFrom = end;
  }
  return rows;
}

/** A number of captures from a time on. */
export interface Level {
  readonly at: number;
  readonly count: number;
}

/** Returns the number of captures in the queue after each change. */
export function waitingOf(captures: readonly TimedCapture[]): Level[] {
  const changes = captures.flatMap((capture) => {
    const { start, end } = spanOf(capture, ['queue']);
    return [
      { at: start, by: 1 },
      { at: end, by: -1 },
    ];
  });
  let count = 0;
  return changes.toSorted((a, b) => a.at - b.at || a.by - b.by).map(({ at, by }) => ({ at, count: (count += by) }));
}

/** The times of a step, in milliseconds. */
export interface StepSummary {
  readonly step: Step | 'whole';
  readonly p50: number;
  readonly p95: number;
  /** Mean of the captures whose whole time is in the middle fifth. */
  readonly middle: number;
  /** Mean of the slowest twentieth of the captures. */
  readonly slowest: number;
}

/** Summarizes each step, and the whole. */
export function summaryOf(captures: readonly TimedCapture[]): StepSummary[] {
  const wholeOf = ({ start, end }: Interval) => end - start;
  const ordered = captures.toSorted((a, b) => wholeOf(a) - wholeOf(b));
  const middle = ordered.slice(Math.floor(0.4 * ordered.length), Math.ceil(0.6 * ordered.length));
  const slowest = ordered.slice(Math.floor(0.95 * ordered.length));
  const summarize = (step: StepSummary['step'], timeOf: (capture: TimedCapture) => number): StepSummary => {
    const { p50, p95 } = percentilesOf(captures.map(timeOf));
    const mean = (of: readonly TimedCapture[]) => of.reduce((sum, each) => sum + timeOf(each), 0) / of.length;
    return { step, p50, p95, middle: mean(middle), slowest: mean(slowest) };
  };
  return [...steps.map((step) => summarize(step, ({ times }) => times[step])), summarize('whole', wholeOf)];
}
