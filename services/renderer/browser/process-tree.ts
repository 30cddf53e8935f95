import { readdirSync, readFileSync } from 'node:fs';

/** One process of a browser, from /proc. */
export interface ProcessSample {
  readonly pid: number;
  readonly parent: number;
  /** Ticks between the boot of the machine and the start of the process. They distinguish processes with the same number. */
  readonly startedAt: string;
  /** Processor time in milliseconds, including that of children that have been waited for. */
  readonly cpuMs: number;
  readonly threads: number;
  /** Memory that only this process uses. */
  readonly privateBytes: number;
  /** Memory shared with other processes: mapped files, and pixels on the way to the screen. */
  readonly sharedBytes: number;
}

/** Page size of x86-64 and of nearly all arm64 kernels; /proc counts memory in pages. */
const pageBytes = 4096;

/** Length of a tick in milliseconds: Linux reports processor time in ticks, with this length on every architecture. */
const tickMs = 10;

/**
 * Time in milliseconds for which a process that belongs to no browser is skipped. Linux reuses its number only after all others (32,768 by
 * default), which takes longer.
 */
const foreignMs = 10_000;

/**
 * Reads trees of processes from /proc. One reader serves all browsers. It skips processes that recently belonged to no browser, so a
 * reading costs one directory listing and a few files for each process of a browser. It reads synchronously, because the thread pool would
 * take ten times as long.
 */
export class ProcessTable {
  readonly #foreign = new Set<string>();
  #clearedAt = performance.now();

  /** Returns the processes below each root in the order of the roots, each root first. Returns undefined without /proc. */
  read(roots: readonly number[]): ProcessSample[][] | undefined {
    const names = listProcesses();
    if (names === undefined) return undefined;
    // A browser runs before it becomes a root, so an earlier reading may have marked its processes as foreign.
    const hasNewRoot = roots.some((root) => this.#foreign.has(String(root)));
    const now = performance.now();
    if (hasNewRoot || now - this.#clearedAt > foreignMs) {
      this.#foreign.clear();
      this.#clearedAt = now;
    }
    const samples = names.flatMap((name) => (this.#foreign.has(name) ? [] : (readSample(name) ?? [])));
    const children = Map.groupBy(samples, ({ parent }) => parent);
    const trees = roots.map((root) => {
      const tree = samples.filter(({ pid }) => pid === root);
      // The loop appends to the array that it iterates.
      for (const { pid } of tree) tree.push(...(children.get(pid) ?? []));
      return tree;
    });
    const known = new Set(trees.flat().map(({ pid }) => pid));
    for (const { pid } of samples) if (!known.has(pid)) this.#foreign.add(String(pid));
    return trees;
  }
}

/** Returns a process and all its descendants; undefined without /proc. */
export function readProcessTree(root: number): ProcessSample[] | undefined {
  return new ProcessTable().read([root])?.[0];
}

/** Returns the memory of a tree in bytes. Shared memory is counted once, by the process that has the largest share. */
export function treeBytes(tree: readonly ProcessSample[]): number {
  return sum(tree, 'privateBytes') + largestShare(tree);
}

/**
 * Returns the memory of the trees of several browsers in bytes. They share the program file, which is counted once. Its size is estimated
 * as the smallest shared memory of a tree, because that tree shares little else.
 */
export function forestBytes(trees: readonly (readonly ProcessSample[])[]): number {
  const shares = trees.filter((tree) => tree.length > 0).map(largestShare);
  const program = shares.length === 0 ? 0 : Math.min(...shares);
  return trees.reduce((bytes, tree) => bytes + treeBytes(tree), 0) - program * Math.max(0, shares.length - 1);
}

const largestShare = (tree: readonly ProcessSample[]) =>
  tree.reduce((max, { sharedBytes }) => Math.max(max, sharedBytes), 0);

export function sum(tree: readonly ProcessSample[], what: 'privateBytes' | 'cpuMs' | 'threads'): number {
  return tree.reduce((total, sample) => total + sample[what], 0);
}

/** Whether a process is a renderer process of the browser. */
export function runsPages(pid: number): boolean {
  return readProcFile(`${pid}/cmdline`)?.includes('--type=renderer') ?? false;
}

/** Returns the start of a process in ticks since boot; undefined if the process has ended. */
export function readStart(pid: number): string | undefined {
  return statFields(readProcFile(`${pid}/stat`))[19];
}

/** Returns the number of open file descriptors of the processes. */
export function countDescriptors(tree: readonly ProcessSample[]): number {
  return tree.reduce((count, { pid }) => count + (list(`/proc/${pid}/fd`)?.length ?? 0), 0);
}

const listProcesses = () => list('/proc')?.filter((name) => /^\d+$/.test(name));

function list(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined; // The process has ended, or there is no /proc.
  }
}

/** Returns the fields after the name: state, parent and so on. The name, in parentheses, may contain any character. */
const statFields = (stat: string | undefined): readonly string[] =>
  stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];

function readSample(name: string): ProcessSample | undefined {
  const fields = statFields(readProcFile(`${name}/stat`));
  const [, resident, shared] = (readProcFile(`${name}/statm`) ?? '').split(' ', 3).map(Number);
  const startedAt = fields[19];
  if (startedAt === undefined || resident === undefined || shared === undefined) return undefined;
  // The fields are utime, stime, cutime and cstime.
  const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0);
  return {
    pid: Number(name),
    parent: Number(fields[1]),
    startedAt,
    cpuMs: ticks * tickMs,
    threads: Number(fields[17]),
    privateBytes: (resident - shared) * pageBytes,
    sharedBytes: shared * pageBytes,
  };
}

function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined; // The process has ended.
  }
}
