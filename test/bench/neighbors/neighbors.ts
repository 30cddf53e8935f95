import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { type Fleet, startFleet } from '../../harness/fleet.ts';
import { hostileNeighbors, type HostilePage } from '../../harness/hostile-neighbors.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { ensureTestTools } from '../../harness/tools.ts';

/** Duration of the warm-up. */
const warmUpMs = 10_000;
/** Duration of the measurement of small captures, alone and then next to each page. */
const measuredMs = 5000;
const goal = 2;

interface Captures {
  /** Milliseconds of each capture. */
  readonly times: readonly number[];
  readonly failed: number;
}

/**
 * Measures small captures of the whole service, alone and then next to each hostile page. Each result is compared with all captures that
 * have run alone so far. Otherwise the 99th percentile of a few dozen captures would be the slowest one.
 */
export async function benchNeighbors({ only }: { readonly only: string | undefined }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools((line) => process.stderr.write(`${line}\n`));
  const tempFolder = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => removeFolder(tempFolder));
  const fleet = parts.use(await startFleet({ tools, tempFolder }, { slots: 2 }));
  await measure(fleet, warmUpMs);

  const width = Math.max(...hostileNeighbors.map(({ name }) => name.length));
  const row = (cells: readonly (string | number)[]) =>
    process.stdout.write(
      `${cells.map((cell, index) => (index === 0 ? String(cell).padEnd(width) : String(cell).padStart(13))).join(' ')}\n`,
    );
  row(['Small captures next to', 'alone', 'next to it', 'ratio (p99)', 'failed', 'the page']);
  const alone: number[] = [];
  for (const page of hostileNeighbors.filter(({ name }) => name.includes(only ?? ''))) {
    alone.push(...(await measure(fleet)).times);
    const { during, outcome } = await measureBeside(fleet, page);
    const ratio = percentile(during.times, 0.99) / percentile(alone, 0.99);
    const show = (times: readonly number[]) =>
      [0.5, 0.99].map((share) => percentile(times, share).toFixed(0)).join(' / ');
    const verdict = ratio <= goal && during.failed === 0 ? 'ok' : 'FAIL';
    row([
      page.name,
      show(alone),
      show(during.times),
      `${ratio.toFixed(1)} ${verdict}`,
      `${during.failed}/${during.times.length}`,
      outcome,
    ]);
  }
  process.stdout.write(
    `ms, p50 / p99 of ${measuredMs / 1000} s; goal: no failure, p99 at most ${goal} times the p99 alone\n`,
  );
}

async function measureBeside(fleet: Fleet, { html }: HostilePage): Promise<{ during: Captures; outcome: string }> {
  const hostile = capture(fleet, { html, timeout: 10_000, delay: measuredMs });
  await delay(300);
  const during = await measure(fleet);
  return { during, outcome: await hostile };
}

async function measure(fleet: Fleet, forMs = measuredMs): Promise<Captures> {
  const times: number[] = [];
  let failed = 0;
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const start = performance.now();
    if ((await capture(fleet, { html: '<p>hello' })) !== 'completed') failed += 1;
    times.push(performance.now() - start);
  }
  return { times, failed };
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/** Returns the error code of the capture, or `completed`. */
async function capture({ url, key }: Fleet, body: object): Promise<string> {
  const response = await fetch(`${url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  const { error } = (await response.json()) as { error: { code: string } | null };
  return error?.code ?? 'completed';
}
