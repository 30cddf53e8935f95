import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

export interface Watched {
  /** The browser's main process. */
  readonly pid: number;
  /** Whether it has work; without, its memory does not grow. */
  readonly busy: () => boolean;
  /** Hears what all processes of the browser hold, in bytes, after each check. */
  readonly onTotal?: (bytes: number) => void;
}

/** A page that allocates as fast as it can takes about a gigabyte a second. */
const checkIntervalMs = 250;

/**
 * Checks the memory of browsers while they work, and ends each page process that holds more than its share: its
 * capture fails, and the others, which the kernel might have ended in its place, go on. Without /proc it does nothing.
 */
export class MemoryGuard {
  readonly #pageBytes: number;
  readonly #log: Logger;
  readonly #watched = new Set<Watched>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: { readonly pageBytes: number; readonly log: Logger }) {
    this.#pageBytes = options.pageBytes;
    this.#log = options.log;
    this.#timer = setInterval(() => this.#check(), checkIntervalMs);
    this.#timer.unref();
  }

  /** Watches a browser until the returned function is called. */
  watch(watched: Watched): () => void {
    this.#watched.add(watched);
    return () => this.#watched.delete(watched);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#watched.clear();
  }

  #check(): void {
    const busy = [...this.#watched].filter((watched) => watched.busy());
    if (busy.length === 0) return;
    const trees = readProcessTrees(busy.map(({ pid }) => pid));
    for (const [index, tree] of (trees ?? []).entries()) {
      const large = tree.filter((one) => one.privateBytes > this.#pageBytes && isRenderer(one.pid));
      for (const one of large) this.#end(one.pid, one.privateBytes);
      busy[index]?.onTotal?.(treeBytes(tree.filter((one) => !large.includes(one))));
    }
  }

  #end(pid: number, bytes: number): void {
    this.#log.warn({ pid, bytes, limit: this.#pageBytes }, 'killing a page process that exceeds its memory limit');
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

export interface ProcessMemory {
  readonly pid: number;
  /** Memory that belongs to this process alone. */
  readonly privateBytes: number;
  /** Memory shared with others: mapped files, and the pixels of a page on their way to the screen. */
  readonly sharedBytes: number;
}

/** Linux counts memory in pages; those of x86-64 and of nearly all arm64 kernels have this size. */
const pageBytes = 4096;

/** A process and all its descendants, from /proc; undefined where there is no /proc. */
export function readProcessTree(root: number): ProcessMemory[] | undefined {
  return readProcessTrees([root])?.[0];
}

/**
 * Several such trees, in the order of their roots, from one pass over /proc. It reads synchronously on purpose: about 1 ms
 * for a hundred processes, a tenth of what the thread pool would take.
 */
function readProcessTrees(roots: readonly number[]): ProcessMemory[][] | undefined {
  const children = readChildren();
  return children && roots.map((root) => readTree(root, children));
}

function readTree(root: number, children: ReadonlyMap<number, readonly number[]>): ProcessMemory[] {
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
  return own + tree.reduce((max, { sharedBytes }) => Math.max(max, sharedBytes), 0);
}

/** Whether a process is one that runs pages. */
function isRenderer(pid: number): boolean {
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
