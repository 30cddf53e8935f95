import type { Sample } from './sample.ts';

const mebibyte = 1024 * 1024;

/** Whether what was measured stays flat; the text says what is measured, how it is, and the goal. */
export interface Verdict {
  readonly text: string;
  readonly ok: boolean;
}

/** By then everything has been used once and the heap has its size. */
const warmAt = 500;

/** What a run of many captures says about leaks. Few captures say little: the later half of them is looked at then. */
export function verdictsOf(samples: readonly Sample[]): Verdict[] {
  const last = samples.at(-1);
  if (last === undefined) return [];
  const warm = samples.find(({ captures }) => captures >= Math.min(warmAt, last.captures / 2)) ?? last;
  const half = samples.filter(({ captures }) => captures >= last.captures / 2);
  // V8 lets garbage lie for hundreds of captures and then clears it away: only peaks can be held against each other.
  const run = samples.filter(({ captures }) => captures >= warm.captures);
  const peak = (part: readonly Sample[]) => Math.max(...part.map(({ nodeBytes }) => nodeBytes)) / mebibyte;
  const middle = Math.ceil(run.length / 2);
  const [before, after] = [peak(run.slice(0, middle)), peak(run.slice(middle))];
  const slope = (of: (sample: Sample) => number) =>
    (slopeOf(half.map((sample) => [sample.captures, of(sample)] as const)) * 1000) / mebibyte;
  const most = (of: (sample: Sample) => number) => Math.max(...samples.map(of));
  const flat = (name: string, of: (sample: Sample) => number, slack: number): Verdict => ({
    text: `${name}: ${of(warm)} at ${warm.captures}, ${of(last)} at the end, ${most(of)} at most   goal: no more than ${slack} more at the end`,
    ok: of(last) - of(warm) <= slack,
  });
  return [
    {
      text: `node memory: ${before.toFixed(0)} MiB at most in the first half after capture ${warm.captures}, ${after.toFixed(0)} in the second   goal: no more than 5% more`,
      ok: after <= before * 1.05,
    },
    {
      text: `slope of the later half, MiB for 1,000 captures: node ${signed(slope(({ nodeBytes }) => nodeBytes))}, its heap ${signed(slope(({ heapBytes }) => heapBytes))}, browsers ${signed(slope(({ browserBytes }) => browserBytes))}`,
      ok: true,
    },
    flat('processes', ({ processes }) => processes, 12),
    flat('file descriptors', ({ descriptors }) => descriptors, 30),
    flat('listeners', ({ listeners }) => listeners, 4),
    flat('temporary files', ({ tempFiles }) => tempFiles, 100),
    {
      text: `zombies: ${most(({ zombies }) => zombies)} at most   goal: none that stays`,
      // A process that has just ended is one until its parent looks.
      ok: samples.slice(-5).some(({ zombies }) => zombies === 0),
    },
  ];
}

/** Least squares. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map((point) => point[0])), mean(points.map((point) => point[1]))];
  const spread = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / spread;
}

const signed = (value: number) => (value < 0 ? '' : '+') + value.toFixed(1);
