import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleet, type Fleet } from '../../harness/fleet.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import type { ToolPaths } from '../../harness/tools.ts';
import { benchQuality, benchViewport, type BenchTask, type Contender } from './contender.ts';

const adminToken = 'the-admin-token-of-the-benchmark';

/** The whole service, as its clients use it: each capture goes through front, queue, renderer and store. */
export async function startBenchFleet(
  parts: AsyncDisposableStack,
  { tools, slots }: { readonly tools: ToolPaths; readonly slots: number },
): Promise<Fleet> {
  const tempFolder = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => removeFolder(tempFolder));
  const env = {
    WEBCAPTURE_LOG_LEVEL: 'info',
    // The browsers of the scripts are never replaced, either.
    WEBCAPTURE_CAPTURES_PER_BROWSER: '100000',
    WEBCAPTURE_ADMIN_TOKEN: adminToken,
  };
  return parts.use(await startFleet({ tools, tempFolder }, { slots, env }));
}

/** @param key of the account whose captures they are; by default the fleet's own, with the default isolation */
export function fleetContender(fleet: Fleet, { name = 'webcapture', key = fleet.key } = {}): Contender {
  const { url, nats, fronts, renderers, controller } = fleet;
  return {
    name,
    capture: (task) => postCapture({ url, key }, task),
    processes: () => [
      ...renderers.map(({ pid }) => ({ part: 'renderer', pid })),
      ...fronts.map(({ pid }) => ({ part: 'front', pid })),
      ...nats.pids.map((pid) => ({ part: 'NATS', pid })),
      { part: 'controller', pid: controller.pid },
    ],
  };
}

/** An account with an isolation of its own, and nothing that limits it; resolves to its key, or to why there is none. */
export async function createAccount(
  { url }: Fleet,
  isolation: string,
): Promise<{ readonly key: string } | { readonly refused: string }> {
  const post = async (path: string, body: object) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminToken}` },
      body: JSON.stringify(body),
    });
    return { ok: response.ok, answer: (await response.json()) as { data: unknown; error: { message: string } | null } };
  };
  const limits = { tokenQuota: 1e12, ratePerMinute: 1e6, maxInFlight: 1e6, maxQueued: 1e6 };
  const account = await post('/admin/accounts', { name: 'Benchmark', isolation, ...limits });
  if (!account.ok) return { refused: account.answer.error?.message ?? 'no reason given' };
  const { id } = account.answer.data as { id: string };
  const made = await post('/admin/keys', { accountId: id, name: 'benchmark' });
  if (!made.ok) throw new Error(`The account of the benchmark got no key: ${made.answer.error?.message}`);
  return { key: (made.answer.data as { key: string }).key };
}

/** Captures with a service of this interface, wherever it runs; the file is taken from the answer. */
export async function postCapture(
  { url, key }: { readonly url: string; readonly key: string },
  { page, url: target, html, format }: BenchTask,
): Promise<void> {
  const response = await fetch(`${url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      ...(html === undefined ? { url: target } : { html }),
      format,
      responseType: 'file',
      // On paper the others print many pages, too, and leave out the tags that the service adds for screen readers.
      isFullPage: page.isFullPage && format !== 'pdf',
      ...(format === 'pdf' ? { pdf: { tagged: false } } : {}),
      viewport: benchViewport,
      quality: benchQuality,
    }),
    signal: AbortSignal.timeout(60_000),
  });
  const bytes = await response.arrayBuffer();
  if (!response.ok) throw new Error(`webcapture answered ${response.status}: ${Buffer.from(bytes).toString()}`);
}
