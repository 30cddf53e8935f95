import type { Environment } from '@webcapture/shared/runtime/env.ts';

/** A working tool. */
export interface FoundTool {
  readonly path: string;
  readonly version: string;
}

export interface ToolContext {
  readonly env: Environment;
  /** The folder for downloads and builds. */
  readonly cacheDir: string;
  /** Receives one line for each step. */
  readonly log: (line: string) => void;
  /** Aborts the current step. */
  readonly signal: AbortSignal;
  /** Returns another tool that this one needs. */
  readonly need: (name: string) => Promise<FoundTool>;
}

/** A way to find or install a tool. */
export interface Strategy {
  /** Name in error messages: "PATH", "apt-get install chromium". */
  readonly title: string;
  /** Returns paths that may be the tool, best first. Throws an Error with the reason if there are none. */
  readonly candidates: (tool: Tool, context: ToolContext) => Promise<readonly string[]>;
}

/** A program (or a set of fonts) that the services or the tests need, with every way to get it. */
export interface Tool {
  readonly name: string;
  /** Name of the variable that contains the path of the tool. If the variable is set, no strategy is tried. */
  readonly variable?: string;
  /** Returns the version of the tool at `path`. Throws an Error with the reason if it is unusable. */
  readonly inspect: (path: string) => Promise<string>;
  /** Strategies that find an installed tool, in order. They are fast and change nothing. */
  readonly find: readonly Strategy[];
  /** Strategies that download, build or install the tool, in order. A lock prevents concurrent runs. */
  readonly install: readonly Strategy[];
  /** Returns the command with which a person installs the tool. */
  readonly byHand: (platform: NodeJS.Platform) => string;
}
