import { join } from 'node:path';
import { withFileLock } from '../file-lock.ts';
import { runCommand } from '../run-command.ts';
import type { Strategy, Tool, ToolContext } from '../tool.ts';
import { programsInPath } from './find-in-path.ts';

const downloadTimeoutMs = 10 * 60_000;
const unpackTimeoutMs = 5 * 60_000;

/**
 * Installs Debian packages, as root or with a sudo that asks no password. `candidates` then looks for what they brought:
 * by default programs named `names`.
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
      // apt-get does not wait for another one that updates its lists.
      const lock = join(context.cacheDir, 'locks', 'apt.lock');
      const onWait = () => context.log('waiting for another apt-get');
      await withFileLock(lock, { onWait, signal: context.signal }, () => install(packages, apt, context));
      return options.candidates(tool, context);
    },
  };
}

type Apt = (
  args: readonly string[],
  limits: { timeoutMs: number; graceMs?: number; patient?: boolean },
) => Promise<string>;

async function install(packages: readonly string[], apt: Apt, context: ToolContext): Promise<void> {
  const wanted = ['install', '-y', '--no-install-recommends', ...packages];
  const download = () => apt([...wanted, '--download-only'], { timeoutMs: downloadTimeoutMs });
  context.log(`installing ${packages.join(' ')} with apt-get`);
  try {
    await download();
  } catch {
    context.signal.throwIfAborted();
    // The lists are missing (a fresh container) or old.
    context.log('fetching the package lists with apt-get update');
    await apt(['update'], { timeoutMs: downloadTimeoutMs });
    await download();
  }
  // A dpkg that is killed must be repaired by hand, so once it unpacks it is left to end by itself.
  await apt(wanted, { timeoutMs: unpackTimeoutMs, graceMs: 60_000, patient: true });
}

async function aptCommand(context: ToolContext): Promise<Apt> {
  const [aptGet] = await programsInPath(['apt-get'], context.env);
  if (process.platform !== 'linux' || aptGet === undefined) throw new Error('there is no apt-get here');
  const isRoot = process.getuid?.() === 0;
  const run = (command: string, args: readonly string[], limits: Parameters<Apt>[1]) =>
    runCommand(command, args, { env: context.env, signal: context.signal, ...limits });
  if (!isRoot) {
    await run('sudo', ['-n', 'true'], { timeoutMs: 10_000 }).catch((error: unknown) => {
      throw new Error('needs root, and sudo is not there or asks for a password', { cause: error });
    });
  }
  const settings = [
    '-q',
    '-o',
    'DPkg::Lock::Timeout=120',
    '-o',
    'Acquire::http::Timeout=20',
    '-o',
    'Acquire::Retries=1',
  ];
  return (args, limits) => {
    const command = ['env', 'DEBIAN_FRONTEND=noninteractive', aptGet, ...settings, ...args];
    const [first = '', ...rest] = isRoot ? command : ['sudo', '-n', ...command];
    return run(first, rest, limits);
  };
}
