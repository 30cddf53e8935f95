import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from '@webcapture/shared/runtime/env.ts';

/** Returns the folder for tools: `WEBCAPTURE_CACHE_DIR`, or the user's cache folder of the platform. */
export function cacheDirOf(env: Environment, platform: NodeJS.Platform = process.platform): string {
  if (env['WEBCAPTURE_CACHE_DIR']) return resolve(env['WEBCAPTURE_CACHE_DIR']);
  if (env['XDG_CACHE_HOME']) return join(env['XDG_CACHE_HOME'], 'webcapture');
  const home = env['HOME'] || homedir();
  return platform === 'darwin' ? join(home, 'Library', 'Caches', 'webcapture') : join(home, '.cache', 'webcapture');
}
