import type { BenchPage } from './pages.ts';
import type { OwnProcess } from './process-cost.ts';

export const benchFormats = ['png', 'jpeg', 'pdf'] as const;
export type BenchFormat = (typeof benchFormats)[number];

/** What is captured: a page at an address, or HTML that the request supplies. */
export interface BenchTask {
  readonly page: BenchPage;
  readonly url: string;
  readonly html?: string;
  readonly format: BenchFormat;
}

/** A way to capture pages. */
export interface Contender {
  readonly name: string;
  /** Resolves when the whole file is there; rejects when there is none. */
  capture(task: BenchTask): Promise<void>;
  /** The processes that do its work; none when they are out of sight. */
  readonly processes: () => readonly OwnProcess[];
}

/** All contenders see pages in a window of this size, at scale 1. */
export const benchViewport = { width: 1280, height: 720 } as const;
/** And take jpegs of this quality. */
export const benchQuality = 80;
