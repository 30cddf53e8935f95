import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { Fleet } from '../../harness/fleet.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { describeMachine } from '../machine.ts';
import { noteGoal } from '../goals.ts';
import { formatMarkdown, tableOf } from '../markdown.ts';
import { startBenchFleet } from '../speed/fleet-contender.ts';
import { servePages } from '../speed/pages.ts';
import { slotRowsOf, summaryOf, type TimedCapture } from './captures.ts';
import { drawTimeline } from './draw.ts';
import { timedCapture } from './timed-capture.ts';

const slots = 2;
const clients = 4;
const warmUpSeconds = 5;

/** Goal for p95 / p50 of a capture. */
const maxSpread = 1.35;

/** Measures each step of captures of a tiny page under load, and draws which slot did what at which time. */
export async function benchTimeline({ seconds }: { readonly seconds: number }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools((line) => process.stderr.write(`${line}\n`));
  const origin = await servePages(parts);
  const fleet = await startBenchFleet(parts, { tools, slots });
  const url = `${origin}/tiny`;
  await captureFor(fleet, url, warmUpSeconds);
  const captures = await captureFor(fleet, url, seconds);

  const summary = summaryOf(captures);
  const { p50 = Number.NaN, p95 = Number.NaN } = summary.find(({ step }) => step === 'whole') ?? {};
  noteGoal('p95 / p50 of tiny png with four clients', p95 / p50, maxSpread);
  const perSecond = captures.length / seconds;
  const title = `${captures.length} captures of a tiny page by ${clients} clients with ${slots} slots, png: ${perSecond.toFixed(1)} per second, p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, p95/p50 ${(p95 / p50).toFixed(2)}`;
  const rows = summary.map(({ step, ...times }) => [
    step,
    ...[times.p50, times.p95, times.middle, times.slowest, times.slowest - times.middle].map((ms) => ms.toFixed(0)),
  ]);
  const head = ['step', 'p50', 'p95', 'mean of the middle fifth', 'mean of the slowest 5 %', 'difference'];
  const text = [await describeMachine(tools), title, 'Milliseconds of each step:', tableOf(head, rows)].join('\n\n');
  process.stdout.write(`\n${await formatMarkdown(text)}`);

  const folder = join(process.cwd(), 'bench-timeline');
  const path = join(folder, 'timeline.svg');
  await mkdir(folder, { recursive: true });
  await writeFile(path, drawTimeline(slotRowsOf(captures, slots), { title, slowMs: p95 }));
  process.stdout.write(`\nThe timeline is ${path}\n`);
}

/** Sends captures of a page with all clients, each of which sends its next request after a response. */
async function captureFor(fleet: Fleet, page: string, seconds: number): Promise<TimedCapture[]> {
  const captures: TimedCapture[] = [];
  const end = performance.now() + seconds * 1000;
  const client = async () => {
    while (performance.now() < end) captures.push(await timedCapture(fleet, { url: page }));
  };
  await Promise.all(Array.from({ length: clients }, client));
  return captures;
}
