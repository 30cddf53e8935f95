import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/**
 * Returns every living descendant of a process. Reads /proc, so the result is empty on systems without it. It reads
 * synchronously, which takes a tenth of the time of the thread pool.
 */
export async function descendantsOf(pid: number): Promise<ProcessInfo[]> {
  const children = Map.groupBy(allStats(), ({ parent }) => parent);
  const found = [...(children.get(pid) ?? [])];
  // The list grows during the loop.
  for (const one of found) found.push(...(children.get(one.pid) ?? []));
  return found.flatMap((one) => {
    const command = readProc(`${one.pid}/cmdline`);
    return one.isZombie || command === null
      ? []
      : [{ pid: one.pid, parent: one.parent, command: command.replaceAll('\0', ' ').trim() }];
  });
}

/** Children of a process that have ended, but were not reaped. */
export function zombiesOf(pid: number): number[] {
  return allStats().flatMap((one) => (one.parent === pid && one.isZombie ? [one.pid] : []));
}

/**
 * Main processes of the browsers that a process has started, without the child processes of each browser. A child process has the
 * command of its browser from its fork until its exec.
 */
export async function browsersOf(pid: number): Promise<number[]> {
  const all = await descendantsOf(pid);
  const likeBrowsers = all.filter(
    ({ command }) => /^\S*(chrom|headless)/.test(command) && !command.includes('--type='),
  );
  const pids = new Set(likeBrowsers.map((browser) => browser.pid));
  return likeBrowsers.filter(({ parent }) => !pids.has(parent)).map((browser) => browser.pid);
}

/** Whether a process runs. A zombie does not run. */
export async function isAlive(pid: number): Promise<boolean> {
  return readStat(pid)?.isZombie === false;
}

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** The process has ended, and only its entry remains. */
  readonly isZombie: boolean;
}

function allStats(): ProcessStat[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.flatMap((name) => (/^\d+$/.test(name) ? (readStat(Number(name)) ?? []) : []));
}

/** Null if the process does not exist. */
function readStat(pid: number): ProcessStat | null {
  const stat = readProc(`${pid}/stat`);
  if (stat === null) return null;
  // The name, in parentheses, may contain any character.
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, parent: Number(parent), isZombie: state === 'Z' };
}

function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return null;
  }
}
