import { join } from 'node:path';
import { ensureDashboard } from '../dashboard/ensure-dashboard.ts';
import { compileFilters } from '../filters/compile.ts';
import { cacheDirOf } from '../tools/cache-dir.ts';
import { ensureTool } from '../tools/ensure-tool.ts';
import { StartError } from './start-error.ts';

export interface ToolPaths {
  /** Undefined if an existing server is used. */
  readonly natsServer: string | undefined;
  readonly headlessShell: string;
  readonly chromium: string;
  /** Folder of compiled filter lists; undefined if the renderers must use their built-in list. */
  readonly filters: string | undefined;
}

export interface SetUpOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly withNats: boolean;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Finds or installs all tools that the services need, in parallel. Throws a {@link StartError} that names all missing
 * ones.
 */
export async function setUpTools({ withNats, ...given }: SetUpOptions): Promise<ToolPaths> {
  const progress = new Progress(given.log);
  const options = { ...given, log: progress.log };
  const tool = (name: string) => progress.of(name, async () => (await ensureTool(name, options)).path);
  // Captures work without the fonts, but show empty boxes for some scripts.
  const fonts = progress
    .of('fonts', () => ensureTool('fonts', options))
    .catch((error: unknown) => {
      if (!options.signal.aborted) options.log(`starting without some fonts. ${String(error)}`);
    });
  const dashboard = progress
    .of('dashboard', () => ensureDashboard(options))
    .catch((error: unknown) => {
      if (!options.signal.aborted) options.log(`starting without the dashboard. ${String(error)}`);
    });
  const [natsServer, headlessShell, chromium, filters] = await Promise.allSettled([
    withNats ? tool('nats-server') : undefined,
    tool('chromium-headless-shell'),
    tool('chromium'),
    progress.of('filter lists', () => setUpFilters(options)),
    fonts,
    dashboard,
  ]);
  progress.stop();
  options.signal.throwIfAborted();
  if (natsServer.status === 'rejected' || headlessShell.status === 'rejected' || chromium.status === 'rejected') {
    const failures = [natsServer, headlessShell, chromium].filter((result) => result.status === 'rejected');
    throw new StartError(failures.map(({ reason }) => (reason as Error).message).join('\n\n'));
  }
  return {
    natsServer: natsServer.value,
    headlessShell: headlessShell.value,
    chromium: chromium.value,
    filters: filters.status === 'fulfilled' ? filters.value : undefined,
  };
}

/** Maximum time without output. The first start builds and installs for minutes, and must show that it makes progress. */
const silenceMs = 5000;

/** Reports the remaining steps of the set-up after a period without output. */
class Progress {
  readonly log: (line: string) => void;
  readonly #pending = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(log: (line: string) => void) {
    this.#timer = setInterval(() => {
      const now = performance.now();
      const parts = [...this.#pending].map(([name, since]) => `${name} (${Math.round((now - since) / 1000)} s)`);
      if (parts.length > 0) log(`still setting up ${parts.join(', ')}`);
    }, silenceMs).unref();
    this.log = (line) => {
      this.#timer.refresh();
      log(line);
    };
  }

  async of<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#pending.set(name, performance.now());
    return work().finally(() => this.#pending.delete(name));
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Returns the folder that the operator configured, or one in the cache that is compiled from the available lists. */
async function setUpFilters({ env, log, signal }: Omit<SetUpOptions, 'withNats'>): Promise<string | undefined> {
  const given = env['WEBCAPTURE_FILTERS_PATH']?.trim();
  if (given) return given;
  try {
    const listsDir = env['WEBCAPTURE_FILTER_LISTS_DIR']?.trim() || undefined;
    return (await compileFilters({ outDir: join(cacheDirOf(env), 'filters'), listsDir, log })).path;
  } catch (error) {
    if (!signal.aborted) log(`starting with the short built-in filter list. ${String(error)}`);
    return undefined;
  }
}
