import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, chromium } from 'playwright';
import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import type { Fleet } from '../../harness/fleet.ts';
import { defaultOptions } from '../../harness/records.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { percentilesOf } from '../http-load.ts';
import { describeMachine } from '../machine.ts';
import { formatMarkdown, tableOf } from '../markdown.ts';
import { capturePage, startBenchEngine } from '../pages/engine.ts';
import { benchViewport } from '../speed/contender.ts';
import { startBenchFleet } from '../speed/fleet-contender.ts';
import { appearingPage, benchPages, servePages, type BenchPage } from '../speed/pages.ts';
import { say } from '../speed/plan.ts';
import { turnsOf } from '../speed/turns.ts';
import { timedCapture } from '../timeline/timed-capture.ts';
import { engineSteps, paperSteps, serviceSteps, type PaperStep, type StepTimes } from './steps.ts';
import { recordWaits, takeWaits } from './waits.ts';

const viewport = { ...benchViewport, deviceScaleFactor: 1 };
const pages: readonly BenchPage[] = [
  ...benchPages.filter(({ name }) => ['tiny', 'article', 'JS-heavy'].includes(name)),
  appearingPage,
];

const template = '<div style="font-size:9px;width:100%;text-align:center"><span class="pageNumber"></span></div>';
const templates = { headerTemplate: template, footerTemplate: template };

/** Options whose cost is shown, for the engine and for a script. */
const variants = {
  'without tags': { engine: { tagged: false }, script: {} },
  'with tags, the default': { engine: {}, script: { tagged: true } },
  'with tags and bookmarks': { engine: { outline: true }, script: { tagged: true, outline: true } },
  'with tags, header and footer': {
    engine: templates,
    script: { tagged: true, displayHeaderFooter: true, ...templates },
  },
} as const satisfies Readonly<Record<string, { engine: Partial<PdfOptions>; script: object }>>;
type Variant = keyof typeof variants;
const variantNames = Object.keys(variants) as Variant[];

/** The variants that are compared step by step: the default of each. */
const [scriptDefault, engineDefault] = ['without tags', 'with tags, the default'] as const;

/** Time after each capture in which the next page is prepared and the old one is closed. */
const restMs = 200;
const warmUpRounds = 2;

/** A PDF: the milliseconds of its steps and its size. */
interface Printed {
  readonly steps: StepTimes;
  /** Time of the variant: `page.pdf()` of the script, and the same part of the engine. */
  readonly ms: number;
  readonly bytes: number;
}

interface Tools {
  readonly engine: RenderEngine;
  readonly browser: Browser;
  readonly fleet: Fleet;
}

/** Measures each step of a PDF, beside `page.pdf()` of a bare script, and what tags, bookmarks and templates cost. */
export async function benchPaper({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  recordWaits();
  const tools = await ensureTestTools(say);
  const origin = await servePages(parts);
  const engine = await startBenchEngine(parts, tools);
  const browser = await chromium.launch({ executablePath: tools.headlessShell });
  parts.defer(() => browser.close());
  const fleet = await startBenchFleet(parts, { tools, slots: 1 });
  const rounds = isQuick ? 3 : 15;
  const measured: MeasuredPage[] = [];
  for (const page of pages) {
    say(page.name);
    measured.push(await measurePage({ engine, browser, fleet }, origin + page.path, rounds));
  }
  const text = [
    await describeMachine(tools),
    `Steps of a PDF with default options, and of a script without tags, in turns: ms, median (least) of ${rounds}:`,
    stepsTable(measured),
    `Printing with other options, from the settled page to the checked file, and \`page.pdf()\` of the script: ms, median (least) of ${rounds}:`,
    variantsTable(measured, (printed) => spread(printed.map(({ ms }) => ms))),
    'Size of the file in KB:',
    variantsTable(measured, (printed) => String(Math.round((printed[0]?.bytes ?? Number.NaN) / 1000))),
  ];
  process.stdout.write(`\n${await formatMarkdown(text.join('\n\n'))}`);
}

/** The PDFs of one page. */
interface MeasuredPage {
  readonly engine: ReadonlyMap<Variant, Printed[]>;
  readonly script: ReadonlyMap<Variant, Printed[]>;
  readonly service: StepTimes[];
}

async function measurePage({ engine, browser, fleet }: Tools, url: string, rounds: number): Promise<MeasuredPage> {
  const empty = () => new Map(variantNames.map((name) => [name, [] as Printed[]]));
  const measured = { engine: empty(), script: empty(), service: [] as StepTimes[] };
  const takes = [
    ...variantNames.flatMap((name) => [
      async () => void measured.engine.get(name)?.push(await printWithEngine(engine, url, variants[name].engine)),
      async () => void measured.script.get(name)?.push(await printWithScript(browser, url, variants[name].script)),
    ]),
    async () => void measured.service.push(serviceSteps(await timedCapture(fleet, { url, format: 'pdf' }))),
  ];
  for (const { contender: take } of turnsOf(takes, { perTurn: 1, rounds: warmUpRounds + rounds })) {
    await take();
    await sleep(restMs);
  }
  for (const printed of [...measured.engine.values(), ...measured.script.values(), measured.service])
    printed.splice(0, warmUpRounds);
  return measured;
}

async function printWithEngine(engine: RenderEngine, url: string, pdf: Partial<PdfOptions>): Promise<Printed> {
  takeWaits();
  const options = { format: 'pdf', viewport, pdf: { ...defaultOptions.pdf, ...pdf } } as const;
  const rendering = await capturePage(engine, { kind: 'url', url }, options);
  const ms = rendering.report.timings.shootMs;
  return { steps: engineSteps(rendering.report, takeWaits()), ms, bytes: rendering.bytes.length };
}

async function printWithScript(browser: Browser, url: string, options: object): Promise<Printed> {
  const start = performance.now();
  const context = await browser.newContext({ viewport: benchViewport });
  try {
    const page = await context.newPage();
    const opened = performance.now();
    await page.goto(url, { waitUntil: 'load' });
    const loaded = performance.now();
    const margin = { top: '10mm', right: '10mm', bottom: '10mm', left: '10mm' };
    const { length } = await page.pdf({ printBackground: true, format: 'A4', margin, ...options });
    const ms = performance.now() - loaded;
    return { steps: { open: opened - start, navigate: loaded - opened, print: ms }, ms, bytes: length };
  } finally {
    await context.close();
  }
}

const head = (first: string) => [first, ...pages.flatMap(({ name }) => [name, `${name}, script`])];

/** The median, and the least, on which other programs on the machine have less influence. */
const spread = (values: readonly number[]) =>
  values.length === 0 ? '' : `${percentilesOf(values).p50.toFixed(0)} (${Math.min(...values).toFixed(0)})`;

/** The steps of each page, and their sum without the parts that a script does not have. */
function stepsTable(measured: readonly MeasuredPage[]): string {
  const columns = measured.flatMap(({ engine, script, service }) => [
    [...(engine.get(engineDefault) ?? []).map(({ steps }) => steps), ...service],
    (script.get(scriptDefault) ?? []).map(({ steps }) => steps),
  ]);
  const steps = Object.keys(paperSteps) as PaperStep[];
  const timesOf = (step: PaperStep, column: readonly StepTimes[]) => column.flatMap((times) => times[step] ?? []);
  const wholeOf = (column: readonly StepTimes[]) =>
    column.flatMap((times) => (times.open === undefined ? [] : Object.values(times).reduce((sum, ms) => sum + ms, 0)));
  return tableOf(head('step'), [
    ...steps.map((step) => [paperSteps[step], ...columns.map((column) => spread(timesOf(step, column)))]),
    ['all but the last two', ...columns.map((column) => spread(wholeOf(column)))],
  ]);
}

function variantsTable(measured: readonly MeasuredPage[], cellOf: (printed: readonly Printed[]) => string): string {
  return tableOf(
    head('options'),
    variantNames.map((name) => [
      name,
      ...measured.flatMap(({ engine, script }) => [cellOf(engine.get(name) ?? []), cellOf(script.get(name) ?? [])]),
    ]),
  );
}
