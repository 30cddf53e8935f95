import type { TestProject } from 'vitest/node';
import { ensureTestTools, type ToolPaths } from './tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    tools: ToolPaths;
  }
}

/** Runs once before the tests of a project: the tools are there, so that `vitest run <file>` works by itself too. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide('tools', await ensureTestTools((line) => process.stdout.write(`${line}\n`)));
}
