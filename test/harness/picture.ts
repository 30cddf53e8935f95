import sharp from 'sharp';

/** A decoded image. Colors are written `#rrggbb`. */
export class Picture {
  readonly width: number;
  readonly height: number;
  /** Format name of sharp: png, jpeg, webp. */
  readonly format: string;
  readonly bytes: Buffer;
  readonly #rgb: Buffer;

  private constructor(bytes: Buffer, format: string, raw: { data: Buffer; width: number; height: number }) {
    this.bytes = bytes;
    this.format = format;
    this.#rgb = raw.data;
    this.width = raw.width;
    this.height = raw.height;
  }

  /** Creates a picture from raw pixels. */
  static ofPixels(rgba: Uint8ClampedArray, width: number, height: number): Picture {
    const rgb = Buffer.allocUnsafe(width * height * 3);
    for (let from = 0, to = 0; to < rgb.length; from += 4, to += 3) {
      rgb[to] = rgba[from] ?? 0;
      rgb[to + 1] = rgba[from + 1] ?? 0;
      rgb[to + 2] = rgba[from + 2] ?? 0;
    }
    return new Picture(Buffer.alloc(0), 'raw', { data: rgb, width, height });
  }

  static async of(bytes: Buffer): Promise<Picture> {
    const image = sharp(bytes, { limitInputPixels: false });
    const { format } = await image.metadata();
    const { data, info } = await image.removeAlpha().toColorspace('srgb').raw().toBuffer({ resolveWithObject: true });
    return new Picture(bytes, format, { data, width: info.width, height: info.height });
  }

  get size(): string {
    return `${this.width}x${this.height}`;
  }

  /** Returns the color of one pixel; throws outside of the picture. */
  at(x: number, y: number): string {
    return `#${this.#valueAt(x, y).toString(16).padStart(6, '0')}`;
  }

  /** Returns the greatest channel difference between a pixel and a color: 0 if they are equal. */
  difference(x: number, y: number, color: string): number {
    return channelDifference(this.#valueAt(x, y), parseColor(color));
  }

  /** Returns the share, 0 to 1, of pixels that differ from a color by at most `tolerance` in each channel. */
  share(color: string, tolerance = 0): number {
    const wanted = parseColor(color);
    const [red, green, blue] = [wanted >> 16, (wanted >> 8) & 255, wanted & 255];
    const rgb = this.#rgb;
    const isNear = (value = 0, channel: number) => value - channel <= tolerance && channel - value <= tolerance;
    let count = 0;
    for (let index = 0; index < rgb.length; index += 3) {
      if (isNear(rgb[index], red) && isNear(rgb[index + 1], green) && isNear(rgb[index + 2], blue)) count += 1;
    }
    return count / (this.width * this.height);
  }

  /** Returns the most frequent colors with their shares, most frequent first. */
  dominant(count = 5): { color: string; share: number }[] {
    const counts = new Map<number, number>();
    const rgb = this.#rgb;
    // Adjacent pixels are often equal, so a run of them is counted at once.
    let [last, run] = [-1, 0];
    const countRun = () => counts.set(last, (counts.get(last) ?? 0) + run);
    for (let index = 0; index < rgb.length; index += 3) {
      const value = ((rgb[index] ?? 0) << 16) | ((rgb[index + 1] ?? 0) << 8) | (rgb[index + 2] ?? 0);
      if (value !== last) {
        if (run > 0) countRun();
        [last, run] = [value, 0];
      }
      run += 1;
    }
    if (run > 0) countRun();
    return [...counts]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, count)
      .map(([value, pixels]) => ({
        color: `#${value.toString(16).padStart(6, '0')}`,
        share: pixels / (this.width * this.height),
      }));
  }

  /** Returns the number of different colors in a row of pixels: 1 means that the row is empty. */
  colorsInRow(y: number): number {
    const colors = new Set<number>();
    for (let x = 0; x < this.width; x++) colors.add(this.#valueAt(x, y));
    return colors.size;
  }

  /** Returns the rows, from top to bottom, whose pixel at `x` is within `tolerance` of a color. */
  rowsOf(x: number, color: string, tolerance = 0): number[] {
    const wanted = parseColor(color);
    return Array.from({ length: this.height }, (_, y) => y).filter(
      (y) => channelDifference(this.#valueAt(x, y), wanted) <= tolerance,
    );
  }

  #valueAt(x: number, y: number): number {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) {
      throw new RangeError(`(${x}, ${y}) is outside of a picture of ${this.size}`);
    }
    return this.#rgb.readUIntBE((y * this.width + x) * 3, 3);
  }
}

function parseColor(color: string): number {
  if (!/^#[0-9a-f]{6}$/.test(color)) throw new TypeError(`"${color}" is not a color like #00ff7f`);
  return Number.parseInt(color.slice(1), 16);
}

function channelDifference(a: number, b: number): number {
  return Math.max(
    Math.abs((a >> 16) - (b >> 16)),
    Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)),
    Math.abs((a & 255) - (b & 255)),
  );
}
