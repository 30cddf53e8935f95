import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import process from 'node:process';

/** What a renderer has of its machine. */
export interface Machine {
  /** Processors; not always a whole number. */
  readonly cores: number;
  readonly memoryBytes: number;
}

const mebibyte = 1024 * 1024;
/** As the chart computes the memory of a renderer. */
const memory = { base: 1024 * mebibyte, perSlot: 400 * mebibyte } as const;

/** Three slots keep two cores busy; a fourth one only takes memory (`npm run bench -- slots`, ADR 11). */
const slotsPerCore = 1.5;
const maxSlots = 64;

/** As many slots as keep the cores busy, as far as the memory allows. */
export function autoSlots({ cores, memoryBytes }: Machine): number {
  const byMemory = Math.floor((memoryBytes - memory.base) / memory.perSlot);
  return Math.max(1, Math.min(Math.floor(slotsPerCore * cores), byMemory, maxSlots));
}

/** What this process may use: of the machine, or of its container. */
export function machineOf(readFile: (path: string) => string | undefined = readIfThere): Machine {
  return {
    cores: Math.min(availableParallelism(), processorQuota(readFile) ?? Number.POSITIVE_INFINITY),
    // 0 where no limit is known.
    memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  };
}

/**
 * Processors that the quota of the container allows; undefined without one. Node.js 24 knows the quota of version 2 only, and
 * rounds it down.
 *
 * @see https://docs.kernel.org/admin-guide/cgroup-v2.html
 * @see https://docs.kernel.org/scheduler/sched-bwc.html
 */
export function processorQuota(readFile: (path: string) => string | undefined): number | undefined {
  const ofVersion1 = ['quota', 'period'].map((name) => readFile(`/sys/fs/cgroup/cpu/cpu.cfs_${name}_us`) ?? '');
  const [quota, period] = (readFile('/sys/fs/cgroup/cpu.max')?.split(' ') ?? ofVersion1).map(Number);
  // `max` and -1 stand for no quota.
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? quota / period : undefined;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // Another version of cgroups, or none.
  }
}
