import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { isRenderer, readProcessTree, treeBytes } from './process-tree.ts';

export interface Watched {
  /** The browser's main process. */
  readonly pid: number;
  /** Whether it has work; without, its memory does not grow. */
  readonly busy: () => boolean;
  /** Hears what all processes of the browser hold, in bytes, after each look. */
  readonly onTotal?: (bytes: number) => void;
}

/** A page that allocates as fast as it can takes about a gigabyte a second. */
const lookEveryMs = 250;

/**
 * Looks at the memory of browsers while they work, and ends each page process that holds more than its share: its
 * capture fails, and the others, which the kernel might have ended in its place, go on. Without /proc it does nothing.
 */
export class MemoryGuard {
  readonly #pageBytes: number;
  readonly #log: Logger;
  readonly #watched = new Set<Watched>();
  readonly #clock: NodeJS.Timeout;

  constructor(options: { readonly pageBytes: number; readonly log: Logger }) {
    this.#pageBytes = options.pageBytes;
    this.#log = options.log;
    this.#clock = setInterval(() => this.#look(), lookEveryMs);
    this.#clock.unref();
  }

  /** Watches a browser until the returned function is called. */
  watch(watched: Watched): () => void {
    this.#watched.add(watched);
    return () => this.#watched.delete(watched);
  }

  close(): void {
    clearInterval(this.#clock);
    this.#watched.clear();
  }

  #look(): void {
    for (const { pid, busy, onTotal } of this.#watched) {
      if (!busy()) continue;
      const tree = readProcessTree(pid);
      if (tree === undefined) return;
      const large = tree.filter((one) => one.privateBytes > this.#pageBytes && isRenderer(one.pid));
      for (const one of large) this.#end(one.pid, one.privateBytes);
      onTotal?.(treeBytes(tree.filter((one) => !large.includes(one))));
    }
  }

  #end(pid: number, bytes: number): void {
    this.#log.warn({ pid, bytes, limit: this.#pageBytes }, 'ending a page that holds too much memory');
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}
