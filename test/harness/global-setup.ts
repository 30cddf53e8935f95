import type { TestProject } from 'vitest/node';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { makeTempFolder, removeFolder } from './temp-folder.ts';
import { ensureTestTools, type ToolPaths } from './tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    tools: ToolPaths;
    /** The folder for all files of the tests; removed at the end. */
    tempFolder: string;
  }
}

/** Runs once before the tests of a project and installs the tools, so that `vitest run <file>` works too. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('tools', await ensureTestTools((line) => process.stdout.write(`${line}\n`)));
  // This runs in parallel with tests that do not need the tool. Tests that need it wait for it.
  ensureTool('fake-gcs-server').catch(() => undefined);
  const folder = await makeTempFolder();
  project.provide('tempFolder', folder);
  return () => removeFolder(folder);
}
