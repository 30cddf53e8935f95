import { cachedPath } from '../cached-file.ts';
import type { Strategy } from '../tool.ts';
import { existing } from './find-in-path.ts';

/** Searches the cache folder for these versions, in order. */
export function findInCache(...versions: readonly string[]): Strategy {
  return {
    title: 'cache',
    candidates: async (tool, { cacheDir }) => {
      const found = await existing(versions.map((version) => cachedPath(cacheDir, tool.name, version)));
      if (found.length === 0) throw new Error(`no ${tool.name} in ${cacheDir}`);
      return found;
    },
  };
}
