import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { chromium, type Browser } from 'playwright';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { RenderEngine, Rendering } from '../../../services/renderer/page/engine.ts';
import { serveFolder } from '../../harness/static-site.ts';
import { ensureTestTools } from '../../harness/tools.ts';
import { differenceOf } from './compare.ts';
import { capturePage, startBenchEngine } from './engine.ts';
import { galleryFolder } from './fetch-packages.ts';
import { galleryPages } from './page-list.ts';
import { scrollSlowly, type SlowScroll } from './slow-scroll.ts';
import { type Shown, writeGallery } from './write-gallery.ts';

const desktop = { width: 1280, height: 720, deviceScaleFactor: 1 } as const;
const mobile = { width: 390, height: 844, deviceScaleFactor: 1 } as const;

const kinds: readonly { readonly name: Shown['kind']; readonly options: Partial<RenderOptions> }[] = [
  { name: 'desktop', options: { isFullPage: true, viewport: desktop } },
  { name: 'mobile', options: { isFullPage: true, viewport: mobile } },
  { name: 'A4', options: { format: 'pdf', viewport: desktop } },
];

/**
 * Captures third-party pages, compares the captures with what a person sees while scrolling slowly, and writes a gallery of both to a folder.
 *
 * @param only pages whose package or path contains this
 */
export async function benchPages({ only = '' }: { readonly only?: string | undefined }): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const tools = await ensureTestTools(say);
  const engine = await startBenchEngine(parts, tools);
  const browser = await chromium.launch({ executablePath: tools.headlessShell });
  parts.defer(() => browser.close());
  const folder = join(process.cwd(), 'bench-pages');
  await mkdir(folder, { recursive: true });

  const shown: Shown[] = [];
  for (const { specifier, paths, files } of galleryPages) {
    const chosen = paths.filter((path) => `${specifier} ${path}`.includes(only));
    if (chosen.length === 0) continue;
    await using site = await serveFolder(await galleryFolder(specifier, files));
    for (const path of chosen) {
      for (const { name, options } of kinds) {
        const id = `${specifier}${path}-${name}`.replaceAll(/[^\w.-]+/g, '_');
        const one = await show({ engine, browser, folder }, { id, url: site.url + path, kind: name, options });
        shown.push({ ...one, page: `${specifier} ${path}` });
        say(lineOf(shown.at(-1)));
      }
      await writeGallery(join(folder, 'index.html'), shown);
    }
  }
  say(`The gallery is ${join(folder, 'index.html')}`);
}

interface Asked {
  readonly id: string;
  readonly url: string;
  readonly kind: Shown['kind'];
  readonly options: Partial<RenderOptions>;
}

async function show(
  { engine, browser, folder }: { engine: RenderEngine; browser: Browser; folder: string },
  { id, url, kind, options }: Asked,
): Promise<Omit<Shown, 'page'>> {
  const begun = performance.now();
  let rendering: Rendering;
  try {
    rendering = await capturePage(engine, { kind: 'url', url }, options);
  } catch (error) {
    return { kind, failure: String(error) };
  }
  const ms = Math.round(performance.now() - begun);
  const { bytes, height, report } = rendering;
  const file = `${id}.${kind === 'A4' ? 'pdf' : 'png'}`;
  await writeFile(join(folder, file), bytes);
  if (kind === 'A4') return { kind, file, height, ms, report };
  const seen = await lookAt(browser, url, options.viewport ?? desktop);
  const reference = `${id}-seen.png`;
  await writeFile(join(folder, reference), seen.png);
  const difference = await differenceOf(bytes, seen);
  return { kind, file, height, ms, report, reference, seenHeight: seen.height, difference };
}

async function lookAt(browser: Browser, url: string, viewport: RenderOptions['viewport']): Promise<SlowScroll> {
  const page = await browser.newPage({ viewport });
  try {
    await page.goto(url, { waitUntil: 'load', timeout: 30_000 });
    return await scrollSlowly(page);
  } finally {
    await page.close();
  }
}

function lineOf(one: Shown | undefined): string {
  if (one === undefined) return '';
  if (one.failure !== undefined) return `${one.page} ${one.kind}: ${one.failure}`;
  const { report, difference, seenHeight } = one;
  const beside =
    seenHeight === undefined ? '' : `, seen ${seenHeight} px, differs ${((difference ?? 0) * 100).toFixed(1)} %`;
  const notes = [report?.truncated && 'truncated', report?.blank && 'blank', ...(report?.softTimeouts ?? [])].filter(
    Boolean,
  );
  return `${one.page} ${one.kind}: ${report?.strategy}, ${one.height} px, ${one.ms} ms${beside} ${notes.join(' ')}`;
}
