import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Environment } from '@webcapture/shared/runtime/env.ts';
import type { Strategy } from '../tool.ts';

/** Looks for programs of these names in every folder of PATH. */
export function findInPath(...names: readonly string[]): Strategy {
  return {
    title: 'PATH',
    candidates: async (_tool, { env }) => {
      const found = await programsInPath(names, env);
      if (found.length === 0) throw new Error(`no ${names.join(', ')} there`);
      return found;
    },
  };
}

/** All of them, the first name first. */
export async function programsInPath(names: readonly string[], env: Environment): Promise<readonly string[]> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return existing(names.flatMap((name) => folders.map((folder) => join(folder, name))));
}

/** Those of the paths that can be executed. */
export async function existing(paths: readonly string[]): Promise<readonly string[]> {
  const there = await Promise.all(
    paths.map((path) =>
      access(path, constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, index) => there[index]);
}
