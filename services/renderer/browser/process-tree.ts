import { readdirSync, readFileSync } from 'node:fs';

/** One process of a browser, as /proc tells of it. */
export interface ProcessSample {
  readonly pid: number;
  readonly parent: number;
  /** In ticks since the machine was started. Tells the process from the next one of its number. */
  readonly startedAt: string;
  /** Processor time in milliseconds, with that of the children which it has seen to their end. */
  readonly cpuMs: number;
  readonly threads: number;
  /** Memory that belongs to this process alone. */
  readonly privateBytes: number;
  /** Memory shared with others: mapped files, and the pixels of a page on their way to the screen. */
  readonly sharedBytes: number;
}

/** Linux counts memory in pages; those of x86-64 and of nearly all arm64 kernels have this size. */
const pageBytes = 4096;

/** Linux tells processor time in ticks of this length on every architecture. */
const tickMs = 10;

/**
 * How long a process that belongs to no browser is skipped, in milliseconds. Linux gives its number to another process only after all
 * others (32,768 by default), which takes longer.
 */
const foreignMs = 10_000;

/**
 * Reads trees of processes from /proc. One reader serves all browsers. It skips processes that belonged to no browser a moment ago, so
 * that a reading costs one list of names, and a few files for each process of a browser. It reads synchronously on purpose: that takes a
 * tenth of the time that the thread pool would take.
 */
export class ProcessTable {
  readonly #foreign = new Set<string>();
  #clearedAt = performance.now();

  /** The processes below each root, itself first, in the order of the roots; undefined where there is no /proc. */
  read(roots: readonly number[]): ProcessSample[][] | undefined {
    const names = listProcesses();
    if (names === undefined) return undefined;
    // A browser is launched before it becomes a root, so that an earlier reading may have taken its processes for foreign ones.
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
      // It grows while it is gone through.
      for (const { pid } of tree) tree.push(...(children.get(pid) ?? []));
      return tree;
    });
    const known = new Set(trees.flat().map(({ pid }) => pid));
    for (const { pid } of samples) if (!known.has(pid)) this.#foreign.add(String(pid));
    return trees;
  }
}

/** A process and all its descendants, from /proc; undefined where there is no /proc. */
export function readProcessTree(root: number): ProcessSample[] | undefined {
  return new ProcessTable().read([root])?.[0];
}

/** What a tree takes of the machine, without counting shared memory twice: the largest sharer stands for all. */
export function treeBytes(tree: readonly ProcessSample[]): number {
  return sum(tree, 'privateBytes') + largestShare(tree);
}

/**
 * What the trees of several browsers take together. They share the program itself, which the smallest one holds little
 * beside.
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

/** Whether a process is one that runs pages. */
export function runsPages(pid: number): boolean {
  return readProcFile(`${pid}/cmdline`)?.includes('--type=renderer') ?? false;
}

/** When a process was started, in ticks since the machine was; undefined when it is gone. */
export function readStart(pid: number): string | undefined {
  return statFields(readProcFile(`${pid}/stat`))[19];
}

/** Descriptors that processes have open. */
export function countDescriptors(tree: readonly ProcessSample[]): number {
  return tree.reduce((count, { pid }) => count + (list(`/proc/${pid}/fd`)?.length ?? 0), 0);
}

const listProcesses = () => list('/proc')?.filter((name) => /^\d+$/.test(name));

function list(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined; // It ended meanwhile, or there is no /proc.
  }
}

/** What follows the name: the state, the parent, and so on. The name, in parentheses, may contain anything. */
const statFields = (stat: string | undefined): readonly string[] =>
  stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];

function readSample(name: string): ProcessSample | undefined {
  const fields = statFields(readProcFile(`${name}/stat`));
  const [, resident, shared] = (readProcFile(`${name}/statm`) ?? '').split(' ', 3).map(Number);
  const startedAt = fields[19];
  if (startedAt === undefined || resident === undefined || shared === undefined) return undefined;
  // utime, stime, cutime and cstime.
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
    return undefined; // It ended meanwhile.
  }
}
