import { readdir, readFile } from 'node:fs/promises';

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Every living descendant of a process. Reads /proc, so it knows of none on systems without one. */
export async function descendantsOf(pid: number): Promise<ProcessInfo[]> {
  const all = await allProcesses();
  const found: ProcessInfo[] = [];
  for (let generation = [pid]; generation.length > 0;) {
    const children = all.filter(({ parent }) => generation.includes(parent));
    found.push(...children);
    generation = children.map((child) => child.pid);
  }
  return found;
}

/**
 * Main processes of the browsers that a process has started, not those that each browser has for its parts. A part bears
 * the command of its browser from its fork until its own program begins.
 */
export async function browsersOf(pid: number): Promise<number[]> {
  const all = await descendantsOf(pid);
  const likeBrowsers = all.filter(
    ({ command }) => /^\S*(chrom|headless)/.test(command) && !command.includes('--type='),
  );
  const pids = new Set(likeBrowsers.map((browser) => browser.pid));
  return likeBrowsers.filter(({ parent }) => !pids.has(parent)).map((browser) => browser.pid);
}

/** Whether a process runs. One that has ended, but whose parent has not looked yet, does not. */
export async function isAlive(pid: number): Promise<boolean> {
  return (await readProcess(pid)) !== null;
}

async function allProcesses(): Promise<ProcessInfo[]> {
  const names = await readdir('/proc').catch(() => []);
  const processes = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => readProcess(Number(name))),
  );
  return processes.filter((process) => process !== null);
}

/** Null when it is gone, or only its zombie is left. */
async function readProcess(pid: number): Promise<ProcessInfo | null> {
  try {
    const [stat, command] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    // The name, in parentheses, may hold anything.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : { pid, parent: Number(parent), command: command.replaceAll('\0', ' ').trim() };
  } catch {
    return null;
  }
}
