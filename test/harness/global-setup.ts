import type { TestProject } from 'vitest/node';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { makeTempFolder, removeFolder } from './temp-folder.ts';
import { ensureTestTools, type ToolPaths } from './tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    tools: ToolPaths;
    /** For whatever the tests write; removed at the end. */
    tempFolder: string;
  }
}

/** Runs once before the tests of a project: the tools are there, so that `vitest run <file>` works by itself too. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('tools', await ensureTestTools((line) => process.stdout.write(`${line}\n`)));
  // Beside the tests that do not need it; those that do ask for it, and wait.
  ensureTool('fake-gcs-server').catch(() => undefined);
  const folder = await makeTempFolder();
  project.provide('tempFolder', folder);
  return () => removeFolder(folder);
}
