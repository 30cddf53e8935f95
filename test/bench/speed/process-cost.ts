import { readFileSync } from 'node:fs';
import { readProcessTree } from '../../../services/renderer/browser/process-tree.ts';

/** Clock ticks of Linux's /proc, in milliseconds. */
const tickMs = 10;

/** What process trees have cost so far and hold now; undefined without /proc. */
export interface ProcessCost {
  readonly cpuMs: number;
  /** Memory shared between processes is counted once (proportional set size). */
  readonly memoryBytes: number;
}

/** The time of processes that have ended is in that of whoever waited for them. */
export function costOf(roots: readonly number[]): ProcessCost | undefined {
  const pids = roots.flatMap((root) => readProcessTree(root)?.map(({ pid }) => pid) ?? []);
  if (pids.length === 0) return undefined;
  const all = [...new Set(pids)];
  return {
    cpuMs: all.reduce((sum, pid) => sum + cpuMsOf(pid), 0),
    memoryBytes: all.reduce((sum, pid) => sum + memoryOf(pid), 0),
  };
}

function cpuMsOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  // The name, in parentheses, may contain anything; utime, stime, cutime and cstime are the 12th to 15th field after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * tickMs, 0);
}

function memoryOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // It ended meanwhile.
  }
}
