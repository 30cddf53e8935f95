import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { storeInCache } from '../cached-file.ts';
import { runCommand } from '../run-command.ts';
import type { Strategy, ToolContext } from '../tool.ts';
import { aptCommand, downloadTimeoutMs, withAptLock } from './apt-command.ts';
import { programsInPath } from './find-in-path.ts';

const unpackTimeoutMs = 2 * 60_000;

/** Used in the cache in place of the version, because the version of the package depends on the distribution. */
export const unpackedVersion = 'apt';

/**
 * Downloads a Debian package and unpacks it into the cache. The package is not installed: the system is not changed, and
 * its services do not start. `kept` is the path of the program (or of a folder of programs) in the package. Root is
 * needed only if the package lists are missing.
 */
export function aptUnpack(options: { readonly package: string; readonly kept: string }): Strategy {
  return {
    title: `apt-get download ${options.package}`,
    candidates: async (tool, context) => {
      const path = await storeInCache(context, tool.name, unpackedVersion, async (folder) => {
        context.log(`downloading ${options.package} with apt-get`);
        await download(options.package, folder, context);
        const archive = (await readdir(folder)).find((name) => name.endsWith('.deb'));
        if (archive === undefined) throw new Error(`apt-get brought no package ${options.package}`);
        const unpacked = join(folder, 'unpacked');
        const limits = { env: context.env, timeoutMs: unpackTimeoutMs, signal: context.signal };
        await runCommand('dpkg-deb', ['-x', join(folder, archive), unpacked], limits);
        return join(unpacked, options.kept);
      });
      context.log(`unpacked ${path}`);
      return [path];
    },
  };
}

async function download(name: string, folder: string, context: ToolContext): Promise<void> {
  const [aptGet] = await programsInPath(['apt-get'], context.env);
  if (process.platform !== 'linux' || aptGet === undefined) throw new Error('there is no apt-get here');
  const { env, signal } = context;
  const once = () =>
    runCommand(aptGet, ['-q', '-o', 'Acquire::http::Timeout=20', '-o', 'Acquire::Retries=1', 'download', name], {
      env,
      cwd: folder,
      timeoutMs: downloadTimeoutMs,
      signal,
    });
  try {
    await once();
  } catch {
    signal.throwIfAborted();
    // The package lists are missing, as in a fresh container, or old.
    const apt = await aptCommand(context);
    context.log('fetching the package lists with apt-get update');
    await withAptLock(context, () => apt(['update'], { timeoutMs: downloadTimeoutMs }));
    await once();
  }
}
