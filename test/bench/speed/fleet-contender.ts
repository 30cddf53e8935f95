import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleet, type Fleet } from '../../harness/fleet.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import type { ToolPaths } from '../../harness/tools.ts';
import { benchQuality, benchViewport, type BenchTask, type Contender } from './contender.ts';

const adminToken = 'the-admin-token-of-the-benchmark';

/** Starts the whole service: each capture passes front, queue, renderer and store, as for a client. */
export async function startBenchFleet(
  parts: AsyncDisposableStack,
  { tools, slots }: { readonly tools: ToolPaths; readonly slots: number },
): Promise<Fleet> {
  const tempFolder = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => removeFolder(tempFolder));
  const env = {
    WEBCAPTURE_LOG_LEVEL: 'info',
    // The browsers of the scripts are not replaced either.
    WEBCAPTURE_CAPTURES_PER_BROWSER: '100000',
    WEBCAPTURE_ADMIN_TOKEN: adminToken,
  };
  return parts.use(await startFleet({ tools, tempFolder }, { slots, env }));
}

/** @param key API key for the captures; by default the key of the fleet's account, which has the default isolation */
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

/** Creates an account with this isolation and without effective limits. Resolves to its key, or to the reason of a refusal. */
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

/** Captures a page with a running service that has the API of webcapture. By default the response is the file. */
export async function postCapture(
  { url, key }: { readonly url: string; readonly key: string },
  { page, url: target, html, format }: BenchTask,
  responseType: 'file' | 'json' = 'file',
): Promise<Buffer> {
  const response = await fetch(`${url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      ...(html === undefined ? { url: target } : { html }),
      format,
      responseType,
      // The other contenders also print all pages to PDF, without the tags for screen readers that the service adds by default.
      isFullPage: page.isFullPage && format !== 'pdf',
      ...(format === 'pdf' ? { pdf: { tagged: false } } : {}),
      viewport: benchViewport,
      quality: benchQuality,
    }),
    signal: AbortSignal.timeout(60_000),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`webcapture returned ${response.status}: ${bytes.toString()}`);
  return bytes;
}
