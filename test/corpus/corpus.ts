import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Format } from '@webcapture/shared/api/formats.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import type { ErrorCode } from '@webcapture/shared/runtime/errors.ts';
import type { Rendering, RenderEngineConfig } from '../../services/renderer/page/engine.ts';
import { TestEngine, TestSite, type Handler, type ShotOptions } from '../harness/engine.ts';
import { readPdf, type Pdf } from '../harness/pdf.ts';
import { rasterPage } from '../harness/pdf-raster.ts';
import { Picture } from '../harness/picture.ts';
import { workerWide } from '../harness/worker-wide.ts';
import { longTag } from '../runner/tiers.ts';

/**
 * A page that capture tools get wrong, and what its right picture is told by: pixels, the requests that it makes, the
 * report. It is captured in each of its formats.
 */
export interface HardPage {
  /** What is hard about it; the name of its test. */
  readonly name: string;
  /** What the paths of its site answer, with `/` as the page itself: html, or a handler. Others are a 404. */
  readonly site: Readonly<Record<string, string | Handler>>;
  /** What is captured instead of `/`. */
  readonly path?: string;
  /** A made-up host under .test in place of 127.0.0.1. */
  readonly host?: string;
  readonly options?: ShotOptions;
  readonly secrets?: CaptureSecrets;
  /**
   * By default png, and with isFullPage pdf: the images of all formats are taken of the same layout, and paper has one of its
   * own. What depends on the file that is made of an image names its formats.
   */
  readonly formats?: readonly Format[];
  /** After it, a simple page is captured, and has to be right. */
  readonly isHostile?: boolean;
  /** Its picture, or how long it takes, depends on the processor: nothing else is captured in its worker meanwhile. */
  readonly isAlone?: boolean;
  /** Its picture depends on how fast the machine is: a page of the long tier. */
  readonly isLong?: boolean;
  /** Fails when the picture is not the right one. */
  readonly check?: (seen: Seen) => void | Promise<void>;
  /** There can be no picture: what its error says of itself, e.g. `PAGE_TOO_LARGE`. */
  readonly fails?: { readonly code: ErrorCode; readonly message?: RegExp };
}

/** What became of a hard page in one format. */
export class Seen {
  readonly format: Format;
  readonly rendering: Rendering;
  /** Of a pdf its first page, with as many pixels as CSS pixels. */
  readonly picture: Picture;
  readonly pdf: Pdf | undefined;
  /** Paths and queries that the site was asked for, in their order. */
  readonly requests: readonly string[];

  private constructor(
    format: Format,
    rendering: Rendering,
    parts: { picture: Picture; pdf?: Pdf; requests: string[] },
  ) {
    this.format = format;
    this.rendering = rendering;
    this.picture = parts.picture;
    this.pdf = parts.pdf;
    this.requests = parts.requests;
  }

  static async of(format: Format, rendering: Rendering, requests: string[]): Promise<Seen> {
    if (format !== 'pdf') return new Seen(format, rendering, { picture: await Picture.of(rendering.bytes), requests });
    const [picture, pdf] = [await rasterPage(rendering.bytes, 1, 96 / 72), await readPdf(rendering.bytes)];
    return new Seen(format, rendering, { picture, pdf, requests });
  }

  get report(): Rendering['report'] {
    return this.rendering.report;
  }

  /** Whether pixels must be exact: jpeg and webp lose a little. */
  get exact(): boolean {
    return this.format === 'png';
  }

  /** Fails unless the pixel has the colour, or for formats that lose a little, nearly so. */
  expectColour(x: number, y: number, colour: string): void {
    const tolerance = this.exact ? 0 : 10;
    const difference = this.picture.difference(x, y, colour);
    expect(difference, `${this.picture.at(x, y)} at (${x}, ${y}), not ${colour}`).toBeLessThanOrEqual(tolerance);
  }

  /** Fails unless each pixel of a column at `x` has the colour that its `[y, colour]` names. */
  expectColumn(x: number, colours: readonly (readonly [y: number, colour: string])[]): void {
    for (const [y, colour] of colours) this.expectColour(x, y, colour);
  }

  /** Fails unless the picture is so large; a pdf may be a few pixels taller, for printing rounds. */
  expectSize(width: number, height: number): void {
    const slack = this.format === 'pdf' ? 8 : 0;
    const { picture } = this;
    expect(picture.width, 'width of the picture').toBe(width);
    expect(Math.abs(picture.height - height), `height ${picture.height}, not ${height}`).toBeLessThanOrEqual(slack);
  }

  /** How many requests there were of a path, whatever their query. */
  asked(path: string): number {
    return this.requests.filter((request) => request.split('?')[0] === path).length;
  }
}

/** A pdf's pixels are then where those of the images are. */
const noMargin = { top: 0, right: 0, bottom: 0, left: 0 };

/** Captures at a time, in a browser each: `maxConcurrency` of the project in vitest.config.ts. */
const slots = 2;

/** One for all files of a worker that need no other: no test may hurt it. */
export const corpusEngine = workerWide(
  () => TestEngine.start({ slots }),
  (engine) => engine.close(),
);

/** One for all hostile pages of a worker, which take it alone. */
const hostileEngine = workerWide(
  () => TestEngine.start(),
  (engine) => engine.close(),
);

/**
 * Tests of every page in each of its formats. Pages go side by side, those that are hostile or measure time alone; they
 * share an engine with other files, unless the file has a configuration. Called once in a file.
 */
export function testCorpus(pages: readonly HardPage[], config?: Partial<RenderEngineConfig>): void {
  let own: TestEngine | undefined;
  if (config) {
    beforeAll(async () => {
      own = await TestEngine.start({ slots, ...config });
    });
    afterAll(() => own?.close());
  }
  const engineFor = async (page: HardPage) => own ?? (await (page.isHostile === true ? hostileEngine : corpusEngine)());

  const isAlone = ({ isHostile, isAlone }: HardPage) => isHostile === true || isAlone === true;
  for (const page of [...pages.filter((one) => !isAlone(one)), ...pages.filter(isAlone)]) {
    const { name, options = {} } = page;
    // What a page names runs with it; that its picture is right on paper as well is for the long tier.
    const formats = page.formats ?? (options.isFullPage === true ? (['png', 'pdf'] as const) : (['png'] as const));
    const isLong = (format: Format) => page.isLong === true || (page.formats === undefined && format !== formats[0]);
    describe(`${name}`, { concurrent: !isAlone(page) }, () => {
      // One after the other: what answers for a page may count its requests.
      for (const format of formats) {
        test(`${format}`, { concurrent: false, tags: isLong(format) ? [longTag] : [] }, async () => {
          const [engine, site] = [await engineFor(page), await TestSite.start({ ...page.site })];
          try {
            const url = site.url(page.path ?? '/', page.host);
            const pdf = { margin: noMargin, ...options.pdf };
            const rendered = engine.render(url, { ...options, pdf, format }, page.secrets && { secrets: page.secrets });
            if (page.fails) {
              const { code, message = /./ } = page.fails;
              await expect(rendered).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
              // It is for the client, who knows nothing of the browser.
              const internals = expect.stringMatching(/net::|page\.goto|Call log/);
              await expect(rendered).rejects.not.toMatchObject({ message: internals });
            } else {
              await page.check?.(await Seen.of(format, await rendered, [...site.hits]));
            }
            if (page.isHostile === true) await expectHealthy(engine);
          } finally {
            await site.close();
          }
        });
      }
    });
  }
}

async function expectHealthy(engine: TestEngine): Promise<void> {
  const { picture } = await engine.shoot({ kind: 'html', html: '<body style="background:#123456">' });
  expect(picture.share('#123456'), 'a simple page afterwards').toBe(1);
}
