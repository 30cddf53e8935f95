import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { ServiceProcess } from '../../harness/service-process.ts';
import { Site } from '../../harness/site/site.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { until } from '../../harness/until.ts';
import { benchKey, startFront, startQueue } from '../front/parts.ts';
import { mixOf } from './mix.ts';
import { takeSample, type Sample } from './sample.ts';
import { verdictsOf } from './verdict.ts';

const slots = 2;
const every = 100;
const allowed = { WEBCAPTURE_EGRESS_ALLOW: '127.0.0.1/32' };
const mebibyte = 1024 * 1024;

/** Sends captures to a renderer for a long time and prints its resources regularly. Goal: the resources do not grow. */
export async function benchSoak({ captures, minutes }: { captures: number; minutes: number }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'soak-'));
  parts.defer(() => removeFolder(folder));
  const session = await startQueue(parts);
  const front = await startFront(parts, session.nc.getServer(), allowed);
  const renderer = await startRenderer(parts, session.nc.getServer(), folder);
  const site = await Site.start();
  parts.use(site);
  const mix = mixOf(site);

  process.stdout.write(`\n${captures} captures of ${mix.length} kinds, ${slots} slots\n${heading}\n`);
  const samples: Sample[] = [];
  const outcomes = new Map<string, number>();
  const end = performance.now() + minutes * 60_000;
  let sent = 0;
  let ended = 0;
  let partBegan = performance.now();
  const client = async () => {
    while (sent < captures && performance.now() < end) {
      const outcome = await capture(front.url, mix[sent++ % mix.length] ?? {});
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      ended += 1;
      if (ended % every !== 0) continue;
      const perSecond = every / ((performance.now() - partBegan) / 1000);
      partBegan = performance.now();
      const captured = ended;
      const heapBytes = await heapOf(renderer);
      const sample = { captures: captured, perSecond, heapBytes, ...takeSample(renderer.pid, folder) };
      samples.push(sample);
      const answers = [...outcomes].map(([name, count]) => `${count} × ${name}`).join(', ');
      process.stdout.write(`${rowOf(sample)}  ${answers}\n`);
    }
  };
  await until('the first capture', async () => (await capture(front.url, mix[0] ?? {})) === '200');
  // One client more than slots, so that a capture always waits in the queue.
  await Promise.all(Array.from({ length: slots + 1 }, client));

  for (const { text, ok } of verdictsOf(samples)) process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${text}\n`);
}

async function startRenderer(parts: AsyncDisposableStack, natsUrl: string, folder: string): Promise<ServiceProcess> {
  const tools = await ensureTestTools((line) => process.stderr.write(`${line}\n`));
  const renderer = await ServiceProcess.prepare('renderer', 'renderer', {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    TMPDIR: folder,
    WEBCAPTURE_NATS_URL: natsUrl,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_SLOTS: String(slots),
    ...allowed,
    WEBCAPTURE_HEADLESS_SHELL_PATH: tools.headlessShell,
    WEBCAPTURE_CHROMIUM_PATH: tools.chromium,
    WEBCAPTURE_CHROMIUM_SANDBOX: tools.sandbox,
    WEBCAPTURE_FILTERS_PATH: tools.filters,
  });
  await renderer.start();
  parts.defer(() => renderer.stop(5000));
  return renderer;
}

async function heapOf(renderer: ServiceProcess): Promise<number> {
  const parts = ['nodejs_heap_size_used_bytes', 'nodejs_external_memory_bytes'];
  const sizes = await Promise.all(parts.map((name) => renderer.metric(name)));
  return sizes.reduce<number>((sum, size = 0) => sum + size, 0);
}

/** Returns the HTTP status, with the error code if there is one. */
async function capture(front: string, body: object): Promise<string> {
  const response = await fetch(`${front}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${benchKey}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  const { error } = (await response.json()) as { error: { code: string } | null };
  return error === null ? String(response.status) : `${response.status} ${error.code}`;
}

const heading =
  'captures     per s  heap MiB  node MiB  browsers MiB  processes  zombies  descriptors  listeners  temp files';

function rowOf(sample: Sample): string {
  const cells: readonly (readonly [number | string, number])[] = [
    [sample.captures, 8],
    [sample.perSecond.toFixed(1), 10],
    [(sample.heapBytes / mebibyte).toFixed(0), 10],
    [(sample.nodeBytes / mebibyte).toFixed(0), 10],
    [(sample.browserBytes / mebibyte).toFixed(0), 14],
    [sample.processes, 11],
    [sample.zombies, 9],
    [sample.descriptors, 13],
    [sample.listeners, 11],
    [sample.tempFiles, 12],
  ];
  return cells.map(([value, width]) => String(value).padStart(width)).join('');
}
