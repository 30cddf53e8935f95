import type { Strategy } from '../tool.ts';

/** Uses another tool of the registry instead. */
export function useTool(other: string): Strategy {
  return {
    title: `${other} in its place`,
    candidates: async (_tool, { need, log }) => {
      const { path } = await need(other);
      log(`using ${path} in its place`);
      return [path];
    },
  };
}
