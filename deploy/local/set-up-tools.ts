import { join } from 'node:path';
import { ensureDashboard } from '../dashboard/ensure-dashboard.ts';
import { compileFilters } from '../filters/compile.ts';
import { cacheDirOf } from '../tools/cache-dir.ts';
import { ensureTool } from '../tools/ensure-tool.ts';
import { StartError } from './start-error.ts';

export interface ToolPaths {
  /** Undefined when an existing server is used. */
  readonly natsServer: string | undefined;
  readonly headlessShell: string;
  readonly chromium: string;
  /** Folder of compiled filter lists; undefined when the renderers are to use their built-in list. */
  readonly filters: string | undefined;
}

export interface SetUpOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly withNats: boolean;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Finds or gets all that the services need, side by side. Throws a {@link StartError} that names all that is missing. */
export async function setUpTools({ withNats, ...options }: SetUpOptions): Promise<ToolPaths> {
  const tool = async (name: string) => (await ensureTool(name, options)).path;
  // Captures work without them, but pages in some scripts then show empty boxes.
  const fonts = ensureTool('fonts', options).catch((error: unknown) => {
    if (!options.signal.aborted) options.log(`starting without some fonts. ${String(error)}`);
  });
  const dashboard = ensureDashboard(options).catch((error: unknown) => {
    if (!options.signal.aborted) options.log(`starting without the dashboard. ${String(error)}`);
  });
  const [natsServer, headlessShell, chromium, filters] = await Promise.allSettled([
    withNats ? tool('nats-server') : undefined,
    tool('chromium-headless-shell'),
    tool('chromium'),
    setUpFilters(options),
    fonts,
    dashboard,
  ]);
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

/** The folder that the operator named, or one in the cache that is compiled from the lists that can be had. */
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
