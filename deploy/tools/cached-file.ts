import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { releasePlatform } from './platform.ts';
import type { ToolContext } from './tool.ts';

/**
 * Returns the path of a tool in the cache. It depends on the platform, because several machines may share a home
 * folder.
 */
export function cachedPath(cacheDir: string, tool: string, version: string): string {
  return join(cacheDir, tool, `${version}-${releasePlatform()}`, tool);
}

/**
 * Calls `make` with an empty folder and moves the returned file into the cache atomically, so that a file in the cache
 * is always complete. The caller must hold the lock of the tool: the function removes the remains of killed starts, and
 * replaces the cached file of this version.
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
    // rename cannot replace a folder that is not empty.
    await rm(target, { recursive: true, force: true });
    await rename(made, target);
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
