import type { Strategy } from '../tool.ts';
import { existing } from './find-in-path.ts';

/** Checks paths outside PATH that installers use for the tool. */
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
