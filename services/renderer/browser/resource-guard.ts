import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { CaptureLimits } from '../config.ts';
import {
  countDescriptors,
  forestBytes,
  ProcessTable,
  type ProcessSample,
  runsPages,
  sum,
  treeBytes,
} from './process-tree.ts';

/** Resources that a capture can exhaust. */
export const resources = ['cpu', 'memory', 'disk', 'processes', 'descriptors', 'messages'] as const;
export type Resource = (typeof resources)[number];

/** Thrown if the page of a capture exceeded a resource limit. */
export class PageLimitError extends Error {
  readonly resource: Resource;

  constructor(resource: Resource, cause?: unknown) {
    super(`the capture reached its limit of ${resource}`, { cause });
    this.name = 'PageLimitError';
    this.resource = resource;
  }
}

/** A capture that has a browser. */
export interface GuardedCapture {
  /** Called once when the capture exceeds a limit; its browser must be killed. */
  readonly onExceeded: (failure: ServiceError) => void;
  /** Called once when the capture continues with low priority; its browser must not serve another capture. */
  readonly onYield: () => void;
}

export interface GuardedBrowser {
  /** Id of the main process. */
  readonly pid: number;
  /** Folder of the browser's files. */
  readonly folder: string;
  /** Number of messages that the browser has sent to this process. */
  readonly messages: () => number;
  /** Returns the current capture; undefined if the browser is idle. */
  readonly capture: () => GuardedCapture | undefined;
}

export interface ResourceGuardOptions {
  readonly limits: CaptureLimits;
  /** Maximum memory of all browsers together. Above it, the capture that uses the most is aborted. */
  readonly totalBytes: number;
  /** Processors for each capture when the maximum number of captures runs. */
  readonly processorShare: number;
  readonly log: Logger;
  readonly onExceeded?: (resource: Resource) => void;
}

/** Interval of checks. A page that allocates as fast as possible takes about 1 GB per second. */
const checkIntervalMs = 250;
/** Descriptors and files are counted less often, because they take longer to count and grow more slowly. */
const checksPerSlowCheck = 4;

/**
 * A capture yields if, in each of `checksBeforeYield` checks, it has used more than `maxShares` times its share of the processors. A
 * capture within its share does not slow down others.
 */
const maxShares = 1.5;
const checksBeforeYield = 2;

/** Resources that a capture has used since its first check. */
interface Usage {
  readonly cpuBefore: number;
  readonly messagesBefore: number;
  cpuMs: number;
  checkedAt: number;
  /** Number of consecutive checks in which the capture used more than its share. */
  greedyChecks: number;
  hasYielded: boolean;
  hasEnded: boolean;
}

/**
 * Measures the resources of captures over all processes of their browsers, and aborts only the capture that exceeds a limit.
 * A capture that keeps the processors busy continues with low priority. Without /proc the guard does nothing.
 */
export class ResourceGuard {
  readonly #options: ResourceGuardOptions;
  readonly #table = new ProcessTable();
  readonly #browsers = new Set<GuardedBrowser>();
  readonly #usages = new WeakMap<GuardedCapture, Usage>();
  readonly #timer: NodeJS.Timeout;
  #checks = 0;

  constructor(options: ResourceGuardOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#check(), checkIntervalMs);
    this.#timer.unref();
  }

  /** Watches a browser until the returned function is called. */
  watch(browser: GuardedBrowser): () => void {
    this.#browsers.add(browser);
    return () => this.#browsers.delete(browser);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#browsers.clear();
  }

  #check(): void {
    const browsers = [...this.#browsers];
    if (!browsers.some((browser) => browser.capture())) return;
    const trees = this.#table.read(browsers.map(({ pid }) => pid));
    if (trees === undefined) return;
    const busy = browsers.flatMap((browser, index) => {
      const [capture, tree = []] = [browser.capture(), trees[index]];
      return capture && tree.length > 0
        ? [{ browser, capture, tree, usage: this.#usageOf(browser, capture, tree) }]
        : [];
    });
    const isSlowCheck = this.#checks++ % checksPerSlowCheck === 0;
    for (const checked of busy) {
      this.#checkCapture(checked, busy.length > 1);
      if (isSlowCheck) void this.#checkFiles(checked);
    }
    const [largest] = busy.toSorted((a, b) => treeBytes(b.tree) - treeBytes(a.tree));
    if (largest && forestBytes(trees) > this.#options.totalBytes) {
      this.#end(
        largest,
        'memory',
        treeBytes(largest.tree),
        'The browsers of the renderer ran out of memory, and this page used most of it.',
      );
    }
  }

  #usageOf(browser: GuardedBrowser, capture: GuardedCapture, tree: readonly ProcessSample[]): Usage {
    const known = this.#usages.get(capture);
    if (known) return known;
    const usage = {
      cpuBefore: sum(tree, 'cpuMs'),
      messagesBefore: browser.messages(),
      cpuMs: 0,
      checkedAt: performance.now(),
      greedyChecks: 0,
      hasYielded: false,
      hasEnded: false,
    };
    this.#usages.set(capture, usage);
    return usage;
  }

  #checkCapture(checked: Checked, isBesideOthers: boolean): void {
    const { browser, capture, tree, usage } = checked;
    const { limits } = this.#options;
    const now = performance.now();
    const cpuMs = sum(tree, 'cpuMs') - usage.cpuBefore;
    const processors = (cpuMs - usage.cpuMs) / Math.max(1, now - usage.checkedAt);
    const isGreedy = processors > maxShares * this.#options.processorShare;
    Object.assign(usage, { cpuMs, checkedAt: now, greedyChecks: isGreedy ? usage.greedyChecks + 1 : 0 });
    const page = tree.find(({ pid, privateBytes }) => privateBytes > limits.pageBytes && runsPages(pid));
    if (page)
      this.#end(
        checked,
        'memory',
        page.privateBytes,
        `The page exceeded the memory limit of a page, ${mebibytes(limits.pageBytes)}.`,
      );
    this.#limit(checked, 'cpu', cpuMs);
    this.#limit(checked, 'memory', treeBytes(tree));
    this.#limit(checked, 'processes', tree.length + sum(tree, 'threads'));
    this.#limit(checked, 'messages', browser.messages() - usage.messagesBefore);
    if (!isBesideOthers || usage.hasYielded || usage.greedyChecks < checksBeforeYield) return;
    usage.hasYielded = true;
    yieldProcessors(tree);
    capture.onYield();
    this.#options.log.info({ pid: browser.pid, cpuMs }, 'capture keeps the processors busy; lowering its priority');
  }

  async #checkFiles(checked: Checked): Promise<void> {
    this.#limit(checked, 'descriptors', countDescriptors(checked.tree));
    this.#limit(checked, 'disk', await sizeOf(checked.browser.folder));
  }

  #limit(checked: Checked, resource: Resource, used: number): void {
    const [limit, message] = limitOf(resource, this.#options.limits);
    if (used > limit) this.#end(checked, resource, used, message);
  }

  #end({ browser, capture, usage }: Checked, resource: Resource, used: number, message: string): void {
    // The capture may have ended while its files were counted.
    if (usage.hasEnded || browser.capture() !== capture) return;
    usage.hasEnded = true;
    const { log, onExceeded } = this.#options;
    log.warn({ pid: browser.pid, resource, used }, 'ending a capture that exceeded a limit');
    onExceeded?.(resource);
    capture.onExceeded(
      new ServiceError('CAPTURE_FAILED', message, { causedBy: 'page', cause: new PageLimitError(resource) }),
    );
  }
}

/** A capture at a check. */
interface Checked {
  readonly browser: GuardedBrowser;
  readonly capture: GuardedCapture;
  readonly tree: readonly ProcessSample[];
  readonly usage: Usage;
}

export const floodMessage =
  'The page flooded its browser with messages, frames, navigations, requests or console messages.';

const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;

/** Returns a limit and the error message for the client whose page exceeds it. */
function limitOf(resource: Resource, limits: CaptureLimits): readonly [limit: number, message: string] {
  const { cpuMs, memoryBytes, diskBytes, processes, descriptors, messages } = limits;
  switch (resource) {
    case 'cpu':
      return [cpuMs, `The page exceeded the processor time limit of a capture, ${Math.round(cpuMs / 1000)} s.`];
    case 'memory':
      return [memoryBytes, `The page exceeded the memory limit of a capture, ${mebibytes(memoryBytes)}.`];
    case 'disk':
      return [diskBytes, `The page exceeded the disk limit of a capture, ${mebibytes(diskBytes)}.`];
    case 'processes':
      return [
        processes,
        `The page exceeded the limit of processes and threads (frames, workers) of a capture, ${processes}.`,
      ];
    case 'descriptors':
      return [descriptors, `The page exceeded the limit of open files and connections of a capture, ${descriptors}.`];
    case 'messages':
      return [messages, floodMessage];
  }
}

/**
 * Gives processes and their future children the lowest scheduling priority, which only privileged processes could raise again. If Linux
 * schedules sessions first (autogroups), this has no effect and is not needed, because each browser is a session.
 */
function yieldProcessors(tree: readonly ProcessSample[]): void {
  const commands = tree.map(({ pid }) => `chrt --idle --all-tasks --pid 0 ${pid}`);
  // It is not a failure if a process has ended, or if the machine has no chrt.
  execFile('/bin/sh', ['-c', commands.join('; ')], { timeout: 5000 }, () => undefined);
}

/** Returns the size in bytes of all files in a folder and its subfolders. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const sizes = entries.map(async (entry) =>
    entry.isFile() ? ((await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0) : 0,
  );
  return (await Promise.all(sizes)).reduce((total, size) => total + size, 0);
}
