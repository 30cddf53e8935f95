import process from 'node:process';
import { type Browser, chromium } from 'playwright';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import { serveFolder } from '../../harness/static-site.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { percentilesOf } from '../http-load.ts';
import { describeMachine } from '../machine.ts';
import { noteGoal, round } from '../goals.ts';
import { formatMarkdown, tableOf } from '../markdown.ts';
import { say } from '../speed/plan.ts';
import { captureCarefully } from './careful-script.ts';
import { capturePage, startBenchEngine } from './engine.ts';
import { galleryFolder } from './fetch-packages.ts';
import { galleryPages } from './page-list.ts';

const viewport = { width: 1280, height: 720, deviceScaleFactor: 1 } as const;
/** Number of the longest waits that are shown for each page. */
const shownWaits = 3;
const goals = { ratio: { median: 0.3, worst: 0.7 }, settleMs: { median: 250, worst: 1500 } } as const;

/** The captures of one page. Times are medians in milliseconds. */
interface Measured {
  readonly page: string;
  readonly ms: number;
  readonly settleMs: number;
  readonly scriptMs: number;
  /** The longest waits of the last capture. */
  readonly waits: string;
}

/**
 * Captures a whole page of each third-party package by the engine and by a careful script, in turns, and shows for what the engine waits.
 *
 * @param only pages whose package or path contains this
 */
export async function benchWholePages({
  only = '',
  isQuick,
}: {
  readonly only?: string | undefined;
  readonly isQuick: boolean;
}): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const tools = await ensureTestTools(say);
  const engine = await startBenchEngine(parts, tools);
  const browser = await chromium.launch({ executablePath: tools.headlessShell });
  parts.defer(() => browser.close());
  const measured: Measured[] = [];
  for (const { specifier, paths, files } of galleryPages) {
    const [path = ''] = paths;
    const page = `${specifier} ${path}`;
    if (!page.includes(only)) continue;
    await using site = await serveFolder(await galleryFolder(specifier, files));
    say(page);
    measured.push(await measure({ engine, browser }, page, site.url + path, isQuick ? 1 : 3));
  }
  if (measured.length === 0) throw new Error(`No page contains "${only}".`);
  const text = [await describeMachine(tools), titleOf(isQuick), pagesTable(measured), summaryTable(measured)];
  process.stdout.write(`\n${await formatMarkdown(text.join('\n\n'))}`);
}

const titleOf = (isQuick: boolean) =>
  `Whole third-party pages, png, ${viewport.width} × ${viewport.height}, by the engine and by a careful script in turns: ms, ${isQuick ? 'one capture' : 'median of three captures'} each, and the longest waits of the engine:`;

async function measure(
  { engine, browser }: { readonly engine: RenderEngine; readonly browser: Browser },
  page: string,
  url: string,
  rounds: number,
): Promise<Measured> {
  const [own, settling, script]: number[][] = [[], [], []];
  let waits: readonly { readonly what: string; readonly durationMs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const options = { isFullPage: true, viewport, diagnostics: true };
    const rendering = await capturePage(engine, { kind: 'url', url }, options);
    const { openMs, navigateMs, settleMs, shootMs } = rendering.report.timings;
    // The diagnostics are read afterwards, and do not count.
    own?.push(openMs + navigateMs + settleMs + shootMs);
    settling?.push(settleMs);
    waits = rendering.diagnostics?.diagnostics.waits ?? [];
    const scriptBegun = performance.now();
    await captureCarefully(browser, url, { viewport });
    script?.push(performance.now() - scriptBegun);
  }
  return {
    page,
    ms: medianOf(own),
    settleMs: medianOf(settling),
    scriptMs: medianOf(script),
    waits: waits
      .toSorted((a, b) => b.durationMs - a.durationMs)
      .slice(0, shownWaits)
      .map(({ what, durationMs }) => `${what} ${durationMs}`)
      .join(', '),
  };
}

const medianOf = (times: readonly number[] = []) => percentilesOf(times).p50;
const ratioOf = ({ ms, scriptMs }: Measured) => ms / scriptMs;

function pagesTable(measured: readonly Measured[]): string {
  const rows = measured
    .toSorted((a, b) => ratioOf(b) - ratioOf(a))
    .map((each) => [
      each.page,
      ...[each.ms, each.settleMs, each.scriptMs].map((ms) => ms.toFixed(0)),
      ratioOf(each).toFixed(2),
      each.waits,
    ]);
  return tableOf(['page', 'engine', 'of that, settling', 'script', 'of the script', 'longest waits'], rows);
}

function summaryTable(measured: readonly Measured[]): string {
  const [ratios, settling] = [measured.map(ratioOf), measured.map(({ settleMs }) => settleMs)];
  const summary = (what: string, unit: string, values: readonly number[], goal: { median: number; worst: number }) => {
    const [median, worst] = [medianOf(values), Math.max(...values)];
    noteGoal(`${what}, median`, median, goal.median, unit);
    noteGoal(`${what}, worst`, worst, goal.worst, unit);
    return [what, `${round(median)}${unit}`, `${round(worst)}${unit}`, `${goal.median}${unit}, ${goal.worst}${unit}`];
  };
  return tableOf(
    [`${measured.length} whole pages`, 'median', 'worst', 'goals'],
    [
      summary('whole pages, share of the time of the careful script', '', ratios, goals.ratio),
      summary('whole pages, settling', ' ms', settling, goals.settleMs),
    ],
  );
}
