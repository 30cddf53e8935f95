import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { storeInCache } from '../cached-file.ts';
import { runCommand } from '../run-command.ts';
import type { Strategy } from '../tool.ts';

export interface GoSources {
  /** Folder of a Go module of this repository. */
  readonly module: URL;
  /** Folders in the module, one for each program. */
  readonly programs: readonly string[];
  readonly version: string;
  /** Variables that the linker sets; Kubernetes gets its version from them. */
  readonly variables: Readonly<Record<string, string>>;
  /** Path to keep, relative to the output folder; '.' keeps all programs. */
  readonly kept: string;
}

/** Building Kubernetes takes four minutes on two idle cores. */
const buildTimeoutMs = 30 * 60_000;

/**
 * Builds programs from a module of this repository that `go install` refuses. Go checks downloads against the module's
 * go.sum. The build has a low priority, because tests run at the same time.
 */
export function goBuild(sources: GoSources): Strategy {
  const { module, programs, version, variables } = sources;
  const title = `go build of ${programs.join(' and ')} ${version}`;
  return {
    title,
    candidates: async (tool, context) => {
      const go = await context.need('go');
      context.log(`${title} with Go ${go.version}; this takes some minutes`);
      const path = await storeInCache(context, tool.name, version, async (folder) => {
        const out = join(folder, 'programs');
        await mkdir(out);
        const linker = ['-s', '-w', ...Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`)].join(
          ' ',
        );
        const args = ['build', '-C', fileURLToPath(module), '-mod=readonly', '-buildvcs=false', '-ldflags', linker];
        await runCommand(
          'nice',
          ['-n', '10', go.path, ...args, '-o', `${out}/`, ...programs.map((name) => `./${name}`)],
          {
            env: { ...context.env, CGO_ENABLED: '0', GOOS: undefined, GOARCH: undefined, GOFLAGS: undefined },
            timeoutMs: buildTimeoutMs,
            signal: context.signal,
          },
        );
        return join(out, sources.kept);
      });
      context.log(`built ${path}`);
      return [path];
    },
  };
}
