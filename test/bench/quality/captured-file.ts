import assert from 'node:assert/strict';
import { readPdf, type Pdf } from '../../harness/pdf.ts';
import { rasterPage } from '../../harness/pdf-raster.ts';
import { Picture } from '../../harness/picture.ts';

/** The difference of a color channel, and of the pixels of a side, that is still right. */
const [colorTolerance, sizeTolerance] = [10, 2];

/** A picture of a page, with checks that throw. */
export class CapturedPicture {
  readonly #picture: Picture;

  private constructor(picture: Picture) {
    this.#picture = picture;
  }

  static async of(bytes: Buffer): Promise<CapturedPicture> {
    return new CapturedPicture(await Picture.of(bytes));
  }

  expectHeight(height: number): void {
    const difference = Math.abs(this.#picture.height - height);
    assert.ok(difference <= sizeTolerance, `the picture is ${this.#picture.height} px tall, not ${height}`);
  }

  /** Fails unless the pixels of the column at `x` have the colors of `[y, color]`. */
  expectColumn(x: number, colors: readonly (readonly [y: number, color: string])[]): void {
    for (const [y, color] of colors) {
      assert.ok(y < this.#picture.height, `the picture is only ${this.#picture.height} px tall`);
      const isThere = this.#picture.difference(x, y, color) <= colorTolerance;
      assert.ok(isThere, `${this.#picture.at(x, y)} at (${x}, ${y}), not ${color}`);
    }
  }

  /** Fails unless at least this share of the pixels has the color. */
  expectShare(color: string, least: number): void {
    const share = this.#picture.share(color, colorTolerance);
    assert.ok(share >= least, `${color} is on ${(share * 100).toFixed(1)} % of the picture`);
  }
}

/** A PDF of a page, with checks that throw. */
export class CapturedPdf {
  readonly #bytes: Buffer;
  readonly #pdf: Pdf;

  private constructor(bytes: Buffer, pdf: Pdf) {
    this.#bytes = bytes;
    this.#pdf = pdf;
  }

  static async of(bytes: Buffer): Promise<CapturedPdf> {
    return new CapturedPdf(bytes, await readPdf(bytes));
  }

  get pages(): number {
    return this.#pdf.pages.length;
  }

  /** Fails unless all pages are A4. */
  expectA4(): void {
    for (const { width, height } of this.#pdf.pages) {
      const isA4 = Math.abs(width - 595) <= sizeTolerance && Math.abs(height - 842) <= sizeTolerance;
      assert.ok(isA4, `the paper is ${width} × ${height} points`);
    }
  }

  /** Fails unless the text contains each of the words this many times. */
  expectWords(words: readonly string[], times = 1): void {
    const all = this.#pdf.text.split(/\s+/);
    for (const word of words) {
      const found = all.filter((each) => each === word).length;
      assert.ok(found === times, `"${word}" is there ${found} times, not ${times}`);
    }
  }

  /** Fails unless at least this share of the pixels of a page has the color. The first page is 1. */
  async expectShare(page: number, color: string, least: number): Promise<void> {
    const share = (await rasterPage(this.#bytes, page)).share(color, colorTolerance);
    assert.ok(share >= least, `${color} is on ${(share * 100).toFixed(1)} % of page ${page}`);
  }
}
