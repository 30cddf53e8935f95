import type { Sample } from './sample.ts';

const mebibyte = 1024 * 1024;

/** Whether a resource stays constant. The text contains the resource, its values, and the goal. */
export interface Verdict {
  readonly text: string;
  readonly ok: boolean;
}

/** Number of the capture after which all code has run once and the heap has its normal size. */
const warmAt = 500;

/** Checks the samples of a run for leaks. For a short run, only the second half is checked. */
export function verdictsOf(samples: readonly Sample[]): Verdict[] {
  const last = samples.at(-1);
  if (last === undefined) return [];
  const warm = samples.find(({ captures }) => captures >= Math.min(warmAt, last.captures / 2)) ?? last;
  const half = samples.filter(({ captures }) => captures >= last.captures / 2);
  // V8 collects garbage only after hundreds of captures, so that only the peaks are comparable.
  const run = samples.filter(({ captures }) => captures >= warm.captures);
  const peak = (part: readonly Sample[]) => Math.max(...part.map(({ nodeBytes }) => nodeBytes)) / mebibyte;
  const middle = Math.ceil(run.length / 2);
  const [before, after] = [peak(run.slice(0, middle)), peak(run.slice(middle))];
  const slope = (of: (sample: Sample) => number) =>
    (slopeOf(half.map((sample) => [sample.captures, of(sample)] as const)) * 1000) / mebibyte;
  const most = (of: (sample: Sample) => number) => Math.max(...samples.map(of));
  const flat = (name: string, of: (sample: Sample) => number, slack: number): Verdict => ({
    text: `${name}: ${of(warm)} at ${warm.captures}, ${of(last)} at the end, maximum ${most(of)}   goal: an increase of at most ${slack}`,
    ok: of(last) - of(warm) <= slack,
  });
  return [
    {
      text: `node memory: ${before.toFixed(0)} MiB maximum in the first half after capture ${warm.captures}, ${after.toFixed(0)} in the second   goal: an increase of at most 5%`,
      ok: after <= before * 1.05,
    },
    {
      text: `slope of the second half, MiB per 1,000 captures: node ${signed(slope(({ nodeBytes }) => nodeBytes))}, heap of node ${signed(slope(({ heapBytes }) => heapBytes))}, browsers ${signed(slope(({ browserBytes }) => browserBytes))}`,
      ok: true,
    },
    flat('processes', ({ processes }) => processes, 12),
    flat('file descriptors', ({ descriptors }) => descriptors, 30),
    flat('listeners', ({ listeners }) => listeners, 4),
    flat('temporary files', ({ tempFiles }) => tempFiles, 100),
    {
      text: `zombies: ${most(({ zombies }) => zombies)} at most   goal: none that remains`,
      // A process that has just ended is a zombie until its parent reaps it.
      ok: samples.slice(-5).some(({ zombies }) => zombies === 0),
    },
  ];
}

/** Returns the slope by least squares. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map((point) => point[0])), mean(points.map((point) => point[1]))];
  const spread = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / spread;
}

const signed = (value: number) => (value < 0 ? '' : '+') + value.toFixed(1);
