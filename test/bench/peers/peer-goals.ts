import { noteGoal } from '../goals.ts';
import type { BenchFormat, Contender } from '../speed/contender.ts';
import type { SaturatedResult, SequentialResult } from '../speed/measure.ts';
import { type Measured, mebibyte, memoryPerSlot, tailOf } from '../speed/report.ts';
import { meanOf } from '../speed/turns.ts';

/**
 * Goals for the geometric mean of the pages that are not captured in full: `alone` is a share of the peer's time, and `rate` a share of its
 * captures per second.
 */
const goals: readonly {
  readonly peer: RegExp;
  readonly pdf: { readonly alone: number; readonly rate: number };
  readonly png: { readonly rate: number };
}[] = [
  { peer: /^Playwright script$/, pdf: { alone: 0.95, rate: 0.95 }, png: { rate: 1.1 } },
  { peer: /^Gotenberg/, pdf: { alone: 0.8, rate: 1.1 }, png: { rate: 1.2 } },
];
const leastPngRate = 0.95;
const maxTail = 1.35;
const maxMebibytes = 450;

/** Compares the service with the goals: with its peers, by its tail at saturation, and by its memory. */
export function notePeerGoals(
  fleet: Contender,
  sequential: readonly Measured<SequentialResult>[],
  saturated: readonly Measured<SaturatedResult>[],
  slots: number,
): void {
  const load = `${slots * 2} clients`;
  for (const contender of saturated[0]?.results.keys() ?? []) {
    const goal = goals.find(({ peer }) => peer.test(contender.name));
    if (goal === undefined) continue;
    const { name } = contender;
    const pair = [fleet, contender] as const;
    const times = sharesOf('pdf', sequential, ({ p50 }) => p50, pair);
    if (times.length > 0) noteGoal(`pdf alone, of the time of ${name}`, meanOf(times), goal.pdf.alone);
    for (const format of ['pdf', 'png'] as const) {
      const rates = sharesOf(format, saturated, ({ perSecond }) => perSecond, pair);
      if (rates.length === 0) continue;
      const what = `${format} with ${load}, of the captures of ${name}`;
      noteGoal(what, meanOf(rates), goal[format].rate, '', 'at least');
      if (format === 'png') noteGoal(`${what}, least`, Math.min(...rates), leastPngRate, '', 'at least');
    }
  }
  noteGoal(`p95 / p50 with ${load}, mean`, tailOf(fleet, saturated), maxTail);
  noteGoal('memory per slot', memoryPerSlot(fleet, saturated, slots) / mebibyte, maxMebibytes, ' MiB');
}

function sharesOf<Result>(
  format: BenchFormat,
  rows: readonly Measured<Result>[],
  of: (result: Result) => number,
  [ours, its]: readonly [Contender, Contender],
): number[] {
  return rows.flatMap(({ task, results }) => {
    const [our, other] = [results.get(ours), results.get(its)];
    if (task.format !== format || task.page.isFullPage || our === undefined || other === undefined) return [];
    return [of(our) / of(other)];
  });
}
