import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Environment } from '@webcapture/shared/runtime/env.ts';
import type { Strategy } from '../tool.ts';

/** Searches every folder of PATH for programs with these names. */
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

/** Returns all matching programs, those with the first name first. */
export async function programsInPath(names: readonly string[], env: Environment): Promise<readonly string[]> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return existing(names.flatMap((name) => folders.map((folder) => join(folder, name))));
}

/** Returns the executable files among the paths. */
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
