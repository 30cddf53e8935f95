import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { type Fleet, startFleet } from '../../harness/fleet.ts';
import { hostileNeighbours, type HostilePage } from '../../harness/hostile-neighbours.ts';
import { removeFolder } from '../../harness/temp-folder.ts';
import { ensureTestTools } from '../../harness/tools.ts';

/** How long small captures are taken, alone and then beside each page. */
const measuredMs = 5000;
const goal = 2;

interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
  readonly count: number;
}

/** Small captures by the whole service, beside one hostile page after the other, and alone just before each. */
export async function benchNeighbours({ only }: { readonly only: string | undefined }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools((line) => process.stderr.write(`${line}\n`));
  const tempFolder = await mkdtemp(join(tmpdir(), 'webcapture-bench-'));
  parts.defer(() => removeFolder(tempFolder));
  const fleet = parts.use(await startFleet({ tools, tempFolder }, { slots: 2 }));
  await measure(fleet);

  const width = Math.max(...hostileNeighbours.map(({ name }) => name.length));
  const row = (cells: readonly (string | number)[]) =>
    process.stdout.write(
      `${cells.map((cell, index) => (index === 0 ? String(cell).padEnd(width) : String(cell).padStart(13))).join(' ')}\n`,
    );
  row(['Small captures beside', 'alone', 'beside', 'times (p99)', 'failed', 'the page']);
  for (const page of hostileNeighbours.filter(({ name }) => name.includes(only ?? ''))) {
    const quiet = await measure(fleet);
    const { during, outcome } = await measureBeside(fleet, page);
    const times = during.p99 / quiet.p99;
    const show = ({ p50, p99 }: Times) => `${p50.toFixed(0)} / ${p99.toFixed(0)}`;
    const verdict = times <= goal && during.failed === 0 ? 'ok' : 'FAIL';
    row([
      page.name,
      show(quiet),
      show(during),
      `${times.toFixed(1)} ${verdict}`,
      `${during.failed}/${during.count}`,
      outcome,
    ]);
  }
  process.stdout.write(
    `ms, p50 / p99 of ${measuredMs / 1000} s; goal: none fails, p99 at most ${goal} times that alone\n`,
  );
}

async function measureBeside(fleet: Fleet, { html }: HostilePage): Promise<{ during: Times; outcome: string }> {
  const hostile = capture(fleet, { html, timeout: 10_000, delay: measuredMs });
  await delay(300);
  const during = await measure(fleet);
  return { during, outcome: await hostile };
}

async function measure(fleet: Fleet): Promise<Times> {
  const times: number[] = [];
  let failed = 0;
  const end = performance.now() + measuredMs;
  while (performance.now() < end) {
    const start = performance.now();
    if ((await capture(fleet, { html: '<p>hello' })) !== 'completed') failed += 1;
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), failed, count: sorted.length };
}

/** Its error code, or `completed`. */
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
