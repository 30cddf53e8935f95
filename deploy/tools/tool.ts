import type { Environment } from '@webcapture/shared/runtime/env.ts';

/** A tool that is there and works. */
export interface FoundTool {
  readonly path: string;
  readonly version: string;
}

export interface ToolContext {
  readonly env: Environment;
  /** The folder that keeps what was downloaded and built. */
  readonly cacheDir: string;
  /** Gets one line for each thing that is done. */
  readonly log: (line: string) => void;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
  /** Another tool that this one needs. */
  readonly need: (name: string) => Promise<FoundTool>;
}

/** One way to a tool. */
export interface Strategy {
  /** As the failure message names it: "PATH", "apt-get install chromium". */
  readonly title: string;
  /** Paths that may be the tool, best first. Throws an Error whose message says why there is none. */
  readonly candidates: (tool: Tool, context: ToolContext) => Promise<readonly string[]>;
}

/** A program (or a set of fonts) that the services or the tests need, and every way to get it. */
export interface Tool {
  readonly name: string;
  /** The variable that names the path outright; nothing else is then tried. */
  readonly variable?: string;
  /** The version of what is at `path`. Throws an Error that says why it is not usable. */
  readonly inspect: (path: string) => Promise<string>;
  /** Quick looks, in order; they change nothing. */
  readonly find: readonly Strategy[];
  /** Downloads, builds and installations, in order; one process at a time. */
  readonly install: readonly Strategy[];
  /** What a person types to get the tool. */
  readonly byHand: (platform: NodeJS.Platform) => string;
}
