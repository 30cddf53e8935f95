import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleet } from '../../harness/fleet.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import type { ToolPaths } from '../../harness/tools.ts';
import { benchQuality, benchViewport, type BenchTask, type Contender } from './contender.ts';

/** The whole service, as its clients use it: each capture goes through front, queue, renderer and store. */
export async function startFleetContender(
  parts: AsyncDisposableStack,
  { tools, slots }: { readonly tools: ToolPaths; readonly slots: number },
): Promise<Contender> {
  const tempFolder = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => removeFolder(tempFolder));
  // The browsers of the scripts are never replaced, either.
  const env = { WEBCAPTURE_LOG_LEVEL: 'info', WEBCAPTURE_CAPTURES_PER_BROWSER: '100000' };
  const fleet = parts.use(await startFleet({ tools, tempFolder }, { slots, env }));
  const { url, key, nats, fronts, renderers, controller } = fleet;
  const processes = [...fronts, ...renderers, controller];
  return {
    name: 'webcapture',
    capture: (task) => postCapture({ url, key }, task),
    pids: () => [...nats.pids, ...processes.map(({ pid }) => pid)],
  };
}

/** Captures with a service of this interface, wherever it runs; the file is taken from the answer. */
export async function postCapture(
  { url, key }: { readonly url: string; readonly key: string },
  { page, url: target, format }: BenchTask,
): Promise<void> {
  const response = await fetch(`${url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      url: target,
      format,
      responseType: 'file',
      // On paper the others print many pages, too.
      isFullPage: page.isFullPage && format !== 'pdf',
      viewport: benchViewport,
      quality: benchQuality,
    }),
    signal: AbortSignal.timeout(60_000),
  });
  const bytes = await response.arrayBuffer();
  if (!response.ok) throw new Error(`webcapture answered ${response.status}: ${Buffer.from(bytes).toString()}`);
}
