import type { Strategy } from '../tool.ts';
import { existing } from './find-in-path.ts';

/** Looks at places outside PATH where installers are known to put the tool. */
export function findAt(...paths: readonly string[]): Strategy {
  return {
    title: 'known places',
    candidates: async () => {
      const found = await existing(paths);
      if (found.length === 0) throw new Error(`nothing at ${paths.join(', ')}`);
      return found;
    },
  };
}
