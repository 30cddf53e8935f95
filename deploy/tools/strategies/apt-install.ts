import type { Strategy, Tool, ToolContext } from '../tool.ts';
import { aptCommand, downloadTimeoutMs, withAptLock, type Apt } from './apt-command.ts';

const unpackTimeoutMs = 5 * 60_000;

/**
 * Installs Debian packages, as root or with a sudo that requires no password. `candidates` then finds the installed
 * files: by default programs with the names `names`.
 */
export function aptInstall(options: {
  readonly packages: readonly string[];
  readonly candidates: (tool: Tool, context: ToolContext) => Promise<readonly string[]>;
}): Strategy {
  const { packages } = options;
  return {
    title: `apt-get install ${packages.join(' ')}`,
    candidates: async (tool, context) => {
      const apt = await aptCommand(context);
      await withAptLock(context, () => install(packages, apt, context));
      return options.candidates(tool, context);
    },
  };
}

async function install(packages: readonly string[], apt: Apt, context: ToolContext): Promise<void> {
  const wanted = ['install', '-y', '--no-install-recommends', ...packages];
  const download = () => apt([...wanted, '--download-only'], { timeoutMs: downloadTimeoutMs });
  context.log(`installing ${packages.join(' ')} with apt-get`);
  try {
    await download();
  } catch {
    context.signal.throwIfAborted();
    // The package lists are missing, as in a fresh container, or old.
    context.log('fetching the package lists with apt-get update');
    await apt(['update'], { timeoutMs: downloadTimeoutMs });
    await download();
  }
  // A killed dpkg must be repaired by hand. Therefore apt may end by itself after it has started to unpack.
  await apt(wanted, { timeoutMs: unpackTimeoutMs, graceMs: 60_000, patient: true });
}
