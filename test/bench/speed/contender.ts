import type { BenchPage } from './pages.ts';

export const benchFormats = ['png', 'jpeg', 'pdf'] as const;
type BenchFormat = (typeof benchFormats)[number];

/** What is captured. */
export interface BenchTask {
  readonly page: BenchPage;
  readonly url: string;
  readonly format: BenchFormat;
}

/** A way to capture pages. */
export interface Contender {
  readonly name: string;
  /** Resolves when the whole file is there; rejects when there is none. */
  capture(task: BenchTask): Promise<void>;
  /** The processes that do its work, each with its descendants; none when they are out of sight. */
  readonly pids: () => readonly number[];
}

/** All contenders see pages in a window of this size, at scale 1. */
export const benchViewport = { width: 1280, height: 720 } as const;
/** And take jpegs of this quality. */
export const benchQuality = 80;
