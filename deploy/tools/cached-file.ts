import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { releasePlatform } from './platform.ts';
import type { ToolContext } from './tool.ts';

/** Where the cache keeps a tool; one folder per platform, since a home may be shared between machines. */
export function cachedPath(cacheDir: string, tool: string, version: string): string {
  return join(cacheDir, tool, `${version}-${releasePlatform()}`, tool);
}

/**
 * Lets `make` work in an empty folder and moves the file that it answers with into the cache in one step: a file of the
 * cache is always whole. The lock on the tool must be held: whatever a start that was killed left there is removed, and
 * what the cache has under this version, which nobody asks to make anew while it works.
 */
export async function storeInCache(
  { cacheDir }: Pick<ToolContext, 'cacheDir'>,
  tool: string,
  version: string,
  make: (folder: string) => Promise<string>,
): Promise<string> {
  const target = cachedPath(cacheDir, tool, version);
  const parent = join(cacheDir, tool);
  await mkdir(parent, { recursive: true });
  for (const name of await readdir(parent)) {
    if (name.startsWith('.making-')) await rm(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, `.making-${randomUUID()}`);
  await mkdir(folder);
  try {
    const made = await make(folder);
    await chmod(made, 0o755);
    await mkdir(dirname(target), { recursive: true });
    // A folder cannot be moved over one with something in it.
    await rm(target, { recursive: true, force: true });
    await rename(made, target);
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
