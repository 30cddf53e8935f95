import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessMemory {
  readonly pid: number;
  /** Memory that belongs to this process alone. */
  readonly privateBytes: number;
  /** Memory shared with others: mapped files, and the pixels of a page on their way to the screen. */
  readonly sharedBytes: number;
}

/** Linux counts memory in pages; those of x86-64 and of nearly all arm64 kernels have this size. */
const pageBytes = 4096;

/**
 * A process and all its descendants, from /proc; undefined where there is no /proc. It reads synchronously on purpose:
 * about 1 ms for a hundred processes, a tenth of what the thread pool would take.
 */
export function readProcessTree(root: number): ProcessMemory[] | undefined {
  const children = readChildren();
  if (children === undefined) return undefined;
  const tree: ProcessMemory[] = [];
  const queue = [root];
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    const memory = readMemory(pid);
    if (memory) tree.push(memory);
    queue.push(...(children.get(pid) ?? []));
  }
  return tree;
}

/** What a tree takes of the machine, without counting shared memory twice: the largest sharer stands for all. */
export function treeBytes(tree: readonly ProcessMemory[]): number {
  const own = tree.reduce((sum, { privateBytes }) => sum + privateBytes, 0);
  return own + tree.reduce((most, { sharedBytes }) => Math.max(most, sharedBytes), 0);
}

/** Whether a process is one that runs pages. */
export function isRenderer(pid: number): boolean {
  return readProcFile(`${pid}/cmdline`)?.includes('--type=renderer') ?? false;
}

/** When a process was started, in ticks since the machine was; undefined when it is gone. Tells it from the next of its number. */
export function readStart(pid: number): string | undefined {
  return statFields(readProcFile(`${pid}/stat`))[19];
}

/** What follows the name: the state, the parent, and so on. The name, in parentheses, may contain anything. */
const statFields = (stat: string | undefined): readonly string[] =>
  stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];

function readChildren(): Map<number, number[]> | undefined {
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return undefined;
  }
  const children = new Map<number, number[]>();
  for (const entry of entries) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    const parent = Number(statFields(readProcFile(`${entry}/stat`))[1]);
    const siblings = children.get(parent);
    if (siblings) siblings.push(pid);
    else children.set(parent, [pid]);
  }
  return children;
}

function readMemory(pid: number): ProcessMemory | undefined {
  const [, resident, shared] = (readProcFile(`${pid}/statm`) ?? '').split(' ', 3).map(Number);
  if (resident === undefined || shared === undefined) return undefined;
  return { pid, privateBytes: (resident - shared) * pageBytes, sharedBytes: shared * pageBytes };
}

function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined; // It ended meanwhile.
  }
}
