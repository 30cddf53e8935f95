import { copyFile, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { storeInCache } from '../cached-file.ts';
import { runCommand } from '../run-command.ts';
import type { Strategy } from '../tool.ts';

export interface ModuleFiles {
  readonly module: string;
  readonly version: string;
  /** Paths in the module. */
  readonly files: readonly string[];
}

const downloadTimeoutMs = 5 * 60_000;

/** Copies files of Go modules into one folder of the cache. Go checks the modules against its checksum database. */
export function goModuleFiles(version: string, modules: readonly ModuleFiles[]): Strategy {
  return {
    title: `files of ${modules.map(({ module }) => module).join(', ')}`,
    candidates: async (tool, context) => {
      const go = await context.need('go');
      const path = await storeInCache(context, tool.name, version, async (folder) => {
        const out = join(folder, 'files');
        await mkdir(out);
        for (const { module, version: of, files } of modules) {
          context.log(`downloading ${module} ${of}`);
          const options = { env: { ...context.env, GOFLAGS: undefined, GOWORK: 'off' }, signal: context.signal };
          const download = (...args: readonly string[]) =>
            runCommand(go.path, ['mod', 'download', ...args, `${module}@v${of}`], {
              ...options,
              timeoutMs: downloadTimeoutMs,
            });
          // The first call prints a readable error. Only the call with `-json` prints the location of the files.
          await download();
          const { Dir: from } = JSON.parse(await download('-json')) as { Dir: string };
          for (const file of files) await copyFile(join(from, file), join(out, basename(file)));
        }
        return out;
      });
      return [path];
    },
  };
}
