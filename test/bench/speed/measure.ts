import { percentilesOf, type Percentiles } from '../http-load.ts';
import type { BenchTask, Contender } from './contender.ts';
import { costOf } from './process-cost.ts';

/** Times in milliseconds. */
export interface SaturatedResult extends Percentiles {
  readonly perSecond: number;
  /** Of all processes; undefined where they are out of sight. */
  readonly cpuMsPerCapture: number | undefined;
  readonly memoryBytes: number | undefined;
}

/** The contenders take turns, one capture each, so that whatever else the machine does meets all of them. */
export async function measureInTurn(
  contenders: readonly Contender[],
  task: BenchTask,
  rounds: number,
): Promise<Map<Contender, Percentiles>> {
  const times = new Map<Contender, number[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round += 1) {
    // Nobody always comes after the same one.
    const shift = round % contenders.length;
    for (const contender of [...contenders.slice(shift), ...contenders.slice(0, shift)]) {
      const start = performance.now();
      await contender.capture(task);
      times.get(contender)?.push(performance.now() - start);
    }
  }
  return new Map([...times].map(([contender, measured]) => [contender, percentilesOf(measured)]));
}

/** So many clients, each of which sends its next request when the answer is there. */
export async function saturate(
  contender: Contender,
  task: BenchTask,
  { clients, seconds }: { readonly clients: number; readonly seconds: number },
): Promise<SaturatedResult> {
  const before = costOf(contender.pids());
  const start = performance.now();
  const end = start + seconds * 1000;
  const times: number[] = [];
  let memoryBytes = 0;
  const watch = setInterval(() => {
    memoryBytes = Math.max(memoryBytes, costOf(contender.pids())?.memoryBytes ?? 0);
  }, 1000);
  try {
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (performance.now() < end) {
          const sent = performance.now();
          await contender.capture(task);
          times.push(performance.now() - sent);
        }
      }),
    );
  } finally {
    clearInterval(watch);
  }
  const elapsedMs = performance.now() - start;
  const after = costOf(contender.pids());
  return {
    ...percentilesOf(times),
    perSecond: (times.length / elapsedMs) * 1000,
    cpuMsPerCapture: before && after ? (after.cpuMs - before.cpuMs) / times.length : undefined,
    memoryBytes: after ? Math.max(memoryBytes, after.memoryBytes) : undefined,
  };
}
