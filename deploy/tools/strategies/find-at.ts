import type { Strategy } from '../tool.ts';
import { existing } from './find-in-path.ts';

/** Checks paths outside PATH to which installers of the tool write. */
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
