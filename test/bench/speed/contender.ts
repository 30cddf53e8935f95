import type { BenchPage } from './pages.ts';
import type { OwnProcess } from './process-cost.ts';

export const benchFormats = ['png', 'jpeg', 'pdf'] as const;
export type BenchFormat = (typeof benchFormats)[number];

/** A page to capture, at an address or as HTML in the request. */
export interface BenchTask {
  readonly page: BenchPage;
  readonly url: string;
  readonly html?: string;
  readonly format: BenchFormat;
  /** Whether the file is checked. Services then wait with their best options, and scripts return the file. */
  readonly isChecked?: boolean;
}

/** A service or script that captures pages. */
export interface Contender {
  readonly name: string;
  /** Resolves when the file is complete; rejects if there is none. Scripts return an empty file unless the task is checked. */
  capture(task: BenchTask): Promise<Buffer>;
  /** The processes of the contender; empty if they cannot be observed. */
  readonly processes: () => readonly OwnProcess[];
}

/** All contenders use a viewport of this size at scale 1. */
export const benchViewport = { width: 1280, height: 720 } as const;
/** All contenders use this quality for jpeg. */
export const benchQuality = 80;
