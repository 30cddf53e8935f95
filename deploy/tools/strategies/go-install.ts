import { join } from 'node:path';
import { storeInCache } from '../cached-file.ts';
import { runCommand } from '../run-command.ts';
import type { Strategy } from '../tool.ts';

export interface GoModule {
  /** The package of the command, such as `github.com/…/v2`. The name of the binary is that of the tool. */
  readonly package: string;
  readonly version: string;
}

/** Timeout of downloading and compiling on a slow machine. */
const buildTimeoutMs = 20 * 60_000;

/** Builds a pinned version into the cache. Go checks the sources against its checksum database. */
export function goInstall(module: GoModule): Strategy {
  const target = `${module.package}@v${module.version}`;
  return {
    title: `go install ${target}`,
    candidates: async (tool, context) => {
      const go = await context.need('go');
      context.log(`building version ${module.version} with Go ${go.version}; this takes minutes`);
      const path = await storeInCache(context, tool.name, module.version, async (folder) => {
        await runCommand(go.path, ['install', '-trimpath', target], {
          env: { ...context.env, GOBIN: folder, CGO_ENABLED: '0', GOOS: undefined, GOARCH: undefined },
          timeoutMs: buildTimeoutMs,
          signal: context.signal,
        });
        return join(folder, tool.name);
      });
      context.log(`built ${path}`);
      return [path];
    },
  };
}
