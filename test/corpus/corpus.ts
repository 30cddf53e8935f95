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

/** A page that is hard to capture, with checks of its picture: pixels, requests, report. It is captured in each of its formats. */
export interface HardPage {
  /** The difficulty; also the name of its test. */
  readonly name: string;
  /** Responses of its site by path, with `/` as the page itself: HTML or a handler. Other paths return 404. */
  readonly site: Readonly<Record<string, string | Handler>>;
  /** Path that is captured instead of `/`. */
  readonly path?: string;
  /** Host under .test that the page has instead of 127.0.0.1. */
  readonly host?: string;
  readonly options?: ShotOptions;
  readonly secrets?: CaptureSecrets;
  /**
   * Formats of the captures. Default: PNG, and with isFullPage also PDF. All image formats use the same layout, and paper has a different
   * one. Cases that depend on the encoding of an image name their formats.
   */
  readonly formats?: readonly Format[];
  /** Whether a simple page is captured afterwards, which must be correct. */
  readonly isHostile?: boolean;
  /** Whether the picture, or the duration, depends on processor time. No other capture then runs in the same worker at the same time. */
  readonly isAlone?: boolean;
  /** Whether the picture depends on the speed of the machine. The page then belongs to the long tier. */
  readonly isLong?: boolean;
  /** Fails if the picture is wrong. */
  readonly check?: (seen: Seen) => void | Promise<void>;
  /** The error code if the capture must fail, such as `PAGE_TOO_LARGE`. */
  readonly fails?: { readonly code: ErrorCode; readonly message?: RegExp };
}

/** Puts a page into the long tier. */
export const long = (page: HardPage): HardPage => ({ ...page, isLong: true });

/** The result of a page in one format. */
export class Seen {
  readonly format: Format;
  readonly rendering: Rendering;
  /** For a PDF, its first page, with one pixel per CSS pixel. */
  readonly picture: Picture;
  readonly pdf: Pdf | undefined;
  /** Paths and queries of the requests to the site, in order. */
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

  /** Whether pixels must be exact: JPEG and WebP are lossy. */
  get exact(): boolean {
    return this.format === 'png';
  }

  /** Fails unless the pixel has the color; approximately for lossy formats. */
  expectColor(x: number, y: number, color: string): void {
    const tolerance = this.exact ? 0 : 10;
    const difference = this.picture.difference(x, y, color);
    expect(difference, `${this.picture.at(x, y)} at (${x}, ${y}), not ${color}`).toBeLessThanOrEqual(tolerance);
  }

  /** Fails unless the pixels of the column at `x` have the colors of `[y, color]`. */
  expectColumn(x: number, colors: readonly (readonly [y: number, color: string])[]): void {
    for (const [y, color] of colors) this.expectColor(x, y, color);
  }

  /** Fails unless the picture has this size; a PDF may be a few pixels taller, because printing rounds. */
  expectSize(width: number, height: number): void {
    const slack = this.format === 'pdf' ? 8 : 0;
    const { picture } = this;
    expect(picture.width, 'width of the picture').toBe(width);
    expect(Math.abs(picture.height - height), `height ${picture.height}, not ${height}`).toBeLessThanOrEqual(slack);
  }

  /** Returns the number of requests to a path, with any query. */
  asked(path: string): number {
    return this.requests.filter((request) => request.split('?')[0] === path).length;
  }
}

/** Options with which a PDF has the same pixel positions as the images. */
const noMargin = { top: 0, right: 0, bottom: 0, left: 0 };

/** Simultaneous captures, each in a separate browser: `maxConcurrency` of the project in vitest.config.ts. */
const slots = 2;

/** All files of a worker that need no other engine share this one, so no test may damage it. */
export const corpusEngine = workerWide(
  () => TestEngine.start({ slots }),
  (engine) => engine.close(),
);

/** All hostile pages of a worker, which run sequentially, share this engine. */
const hostileEngine = workerWide(
  () => TestEngine.start(),
  (engine) => engine.close(),
);

/**
 * Defines tests of every page in each of its formats. Pages run in parallel, but hostile pages and pages that measure time run
 * alone. They share an engine with other files, unless the file has a configuration. Call it once per file.
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
    // The check that a picture is correct on paper too is in the long tier.
    const formats = page.formats ?? (options.isFullPage === true ? (['png', 'pdf'] as const) : (['png'] as const));
    const isLong = (format: Format) => page.isLong === true || (format === 'pdf' && formats[0] !== 'pdf');
    describe(`${name}`, { concurrent: !isAlone(page) }, () => {
      // The tests are sequential, because the handlers of a page may count its requests.
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
              // The message is for the client, who does not know the browser.
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
