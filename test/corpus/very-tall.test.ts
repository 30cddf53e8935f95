import { maxSide } from '@webcapture/shared/api/formats.ts';
import { html } from '../harness/engine.ts';
import { long, testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';

const red = '#ff0000';
const narrow = { isFullPage: true, viewport: { width: 32, height: 720 } } as const;

/** Rows, then red until the page has this height. */
const tall = (height: number) => {
  const rows = Math.floor(height / 100) - 1;
  return {
    rows,
    site: { '/': html(`${rowsOf(rows)}<div style="height:${height - rows * 100}px;background:${red}"></div>`) },
  };
};

/** A page that fits into its format, with pixels at the borders of the tiles. */
function holds(format: 'png' | 'jpeg' | 'webp' | 'pdf', height: number, scale = 1): HardPage {
  const { rows, site } = tall(height);
  return {
    name: `${height} px at a scale of ${scale} as ${format}`,
    site,
    options: { ...narrow, viewport: { ...narrow.viewport, deviceScaleFactor: scale } },
    formats: [format],
    check: (seen) => {
      seen.expectSize(32 * scale, height * scale);
      const scaled = ([y, color]: readonly [number, string]) => [y * scale, color] as const;
      const some = [0, 1, 79, 80, 159, 160, Math.floor(rows / 2), rows - 1].filter((index) => index < rows);
      seen.expectColumn(
        16,
        some.map((index) => scaled(row(index))),
      );
      seen.expectColor(16, (height - 5) * scale, red);
      if (seen.format === 'pdf') return;
      // Every row at the end of a tile must be at its position.
      for (let index = 0; index < rows; index += 7) seen.expectColumn(16, [scaled(row(index))]);
    },
  };
}

/** A page that does not fit, with the alternative that the error names. */
function refuses(format: 'png' | 'jpeg' | 'webp' | 'pdf', height: number, message: RegExp, scale = 1): HardPage {
  return {
    name: `${height} px at a scale of ${scale} exceed the limit of ${format}`,
    site: tall(height).site,
    options: { ...narrow, viewport: { ...narrow.viewport, deviceScaleFactor: scale } },
    formats: [format],
    fails: { code: 'PAGE_TOO_LARGE', message },
  };
}

const pages: readonly HardPage[] = [
  ...(['png', 'jpeg', 'webp', 'pdf'] as const).map((format) => holds(format, 12_050)),
  long(holds('png', 40_000)),
  holds('webp', maxSide.webp),
  refuses('webp', maxSide.webp + 1, /webp holds 16383 px\. Use jpeg/),
  holds('jpeg', maxSide.jpeg),
  refuses('jpeg', maxSide.jpeg + 1, /jpeg holds 65500 px\. Use png/),
  holds('png', maxSide.png),
  refuses('png', maxSide.png + 1, /png holds 100000 px\. Use pdf/),
  holds('pdf', maxSide.pdf),
  refuses('pdf', maxSide.pdf + 1, /pdf holds 19200 px\. Use jpeg/),
  // The limit is in pixels of the file.
  long(holds('png', 12_050, 1.5)),
  long(holds('webp', 8191, 2)),
  refuses('webp', 8192, /Use jpeg/, 2),
  long(holds('jpeg', 9000, 3)),
  refuses('png', 33_334, /Use pdf/, 3),
];

testCorpus(pages);
