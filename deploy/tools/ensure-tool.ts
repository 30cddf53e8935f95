import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '@webcapture/shared/runtime/env.ts';
import { cacheDirOf } from './cache-dir.ts';
import { withFileLock } from './file-lock.ts';
import { registry } from './registry.ts';
import type { FoundTool, Strategy, Tool, ToolContext } from './tool.ts';

export interface EnsureOptions {
  /** Receives one line for each step. */
  readonly log?: (line: string) => void;
  /** Source of variables, PATH and cache folder; by default this process's environment. */
  readonly env?: Environment;
  readonly signal?: AbortSignal;
  /** Known tools; by default {@link registry}. */
  readonly tools?: readonly Tool[];
}

/** Thrown if a tool is unavailable. After its first line, the message lists the attempts and the command to run by hand. */
class ToolError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolError';
  }
}

/**
 * Finds a tool, or installs it. Checks its variable, PATH and the cache, and then tries a download, a build or the package manager. If
 * several processes call this function at the same time, one of them installs the tool and the others wait. Throws a {@link ToolError}.
 */
export async function ensureTool(name: string, options: EnsureOptions = {}): Promise<FoundTool> {
  const { env = process.env, log = () => undefined, tools = registry } = options;
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new ToolError(`there is no tool named ${name}`);
  const context: ToolContext = {
    env,
    cacheDir: cacheDirOf(env),
    log: (line) => log(`${name}: ${line}`),
    signal: options.signal ?? new AbortController().signal,
    need: (other) => ensureTool(other, options),
  };
  const named = tool.variable === undefined ? undefined : env[tool.variable];
  if (named) return inspectNamed(tool, named);
  return (await firstThatWorks(tool, tool.find, context, [])) ?? (await install(tool, context));
}

async function inspectNamed(tool: Tool, path: string): Promise<FoundTool> {
  try {
    return { path, version: await tool.inspect(path) };
  } catch (error) {
    throw new ToolError(`${tool.variable} must name a usable ${tool.name}: ${messageOf(error)}`, { cause: error });
  }
}

async function install(tool: Tool, context: ToolContext): Promise<FoundTool> {
  const lock = join(context.cacheDir, 'locks', `${tool.name}.lock`);
  await mkdir(dirname(lock), { recursive: true }).catch((error: unknown) => {
    throw new ToolError(`WEBCAPTURE_CACHE_DIR must name a folder to write to: ${messageOf(error)}`, { cause: error });
  });
  const onWait = () => context.log('another process is setting it up; waiting for it');
  return withFileLock(lock, { onWait, signal: context.signal }, async () => {
    const failures: string[] = [];
    const found =
      (await firstThatWorks(tool, tool.find, context, failures)) ??
      (await firstThatWorks(tool, tool.install, context, failures, (failure) => context.log(failure)));
    if (found !== undefined) return found;
    throw new ToolError(
      `${tool.name} could not be set up.\nTried:\n${failures.map((line) => `  - ${line}`).join('\n')}\n` +
        `Set it up by hand, then start again:\n  ${tool.byHand(process.platform)}`,
    );
  });
}

/** Adds the reason of each failed strategy to `failures`. */
async function firstThatWorks(
  tool: Tool,
  strategies: readonly Strategy[],
  context: ToolContext,
  failures: string[],
  onFailure: (failure: string) => void = () => undefined,
): Promise<FoundTool | undefined> {
  const failed = (strategy: Strategy, error: unknown) => {
    const failure = `${strategy.title}: ${messageOf(error).split('\n')[0]}`;
    failures.push(failure);
    onFailure(failure);
  };
  for (const strategy of strategies) {
    context.signal.throwIfAborted();
    try {
      for (const path of await strategy.candidates(tool, context)) {
        try {
          return { path, version: await tool.inspect(path) };
        } catch (error) {
          failed(strategy, error);
        }
      }
    } catch (error) {
      context.signal.throwIfAborted();
      failed(strategy, error);
    }
  }
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
