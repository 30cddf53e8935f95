import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import process from 'node:process';

/** The resources that a renderer may use. */
export interface Machine {
  /** Number of processors, possibly fractional. */
  readonly cores: number;
  readonly memoryBytes: number;
}

const mebibyte = 1024 * 1024;
/** Memory of a renderer by the formula of the chart. */
const memory = { base: 1024 * mebibyte, perSlot: 400 * mebibyte } as const;

/** Three slots keep two cores busy. A fourth slot would only use memory (`npm run bench -- slots`, ADR 11). */
const slotsPerCore = 1.5;
const maxSlots = 64;

/** Returns the number of slots that keep the cores busy, limited by the memory. */
export function autoSlots({ cores, memoryBytes }: Machine): number {
  const byMemory = Math.floor((memoryBytes - memory.base) / memory.perSlot);
  return Math.max(1, Math.min(Math.floor(slotsPerCore * cores), byMemory, maxSlots));
}

/** Returns the processors and memory that the machine, or the container of this process, provides. */
export function machineOf(readFile: (path: string) => string | undefined = readIfThere): Machine {
  return {
    cores: Math.min(availableParallelism(), processorQuota(readFile) ?? Number.POSITIVE_INFINITY),
    // `constrainedMemory` returns 0 if no limit is known.
    memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  };
}

/**
 * Returns the number of processors that the container's quota allows; undefined without a quota. This function exists because Node.js 24
 * reads only the quota of cgroup version 2, and rounds it down.
 *
 * @see https://docs.kernel.org/admin-guide/cgroup-v2.html
 * @see https://docs.kernel.org/scheduler/sched-bwc.html
 */
export function processorQuota(readFile: (path: string) => string | undefined): number | undefined {
  const ofVersion1 = ['quota', 'period'].map((name) => readFile(`/sys/fs/cgroup/cpu/cpu.cfs_${name}_us`) ?? '');
  const [quota, period] = (readFile('/sys/fs/cgroup/cpu.max')?.split(' ') ?? ofVersion1).map(Number);
  // `max` and -1 mean no quota.
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? quota / period : undefined;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // Another version of cgroups, or no cgroups.
  }
}
