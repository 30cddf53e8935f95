import sharp from 'sharp';

/** An image taken apart into pixels. Colours are written `#rrggbb`. */
export class Picture {
  readonly width: number;
  readonly height: number;
  /** As sharp names it: png, jpeg, webp. */
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

  static async of(bytes: Buffer): Promise<Picture> {
    const image = sharp(bytes, { limitInputPixels: false });
    const { format } = await image.metadata();
    const { data, info } = await image.removeAlpha().toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
    return new Picture(bytes, format, { data, width: info.width, height: info.height });
  }

  get size(): string {
    return `${this.width}x${this.height}`;
  }

  /** The colour of one pixel; throws outside of the picture. */
  at(x: number, y: number): string {
    return `#${this.#valueAt(x, y).toString(16).padStart(6, '0')}`;
  }

  /** The greatest difference of a channel between a pixel and a colour: 0 when they are equal. */
  difference(x: number, y: number, colour: string): number {
    return channelDifference(this.#valueAt(x, y), parseColour(colour));
  }

  /** The share, 0 to 1, of pixels that differ from a colour by at most `tolerance` in each channel. */
  share(colour: string, tolerance = 0): number {
    const wanted = parseColour(colour);
    let count = 0;
    for (let index = 0; index < this.#rgb.length; index += 3) {
      if (channelDifference(this.#rgb.readUIntBE(index, 3), wanted) <= tolerance) count++;
    }
    return count / (this.width * this.height);
  }

  /** The most frequent colours with their shares, most frequent first. */
  dominant(count = 5): { colour: string; share: number }[] {
    const counts = new Map<number, number>();
    for (let index = 0; index < this.#rgb.length; index += 3) {
      const value = this.#rgb.readUIntBE(index, 3);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return [...counts]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, count)
      .map(([value, pixels]) => ({
        colour: `#${value.toString(16).padStart(6, '0')}`,
        share: pixels / (this.width * this.height),
      }));
  }

  /** How many different colours there are in a row of pixels: 1 says that nothing is there. */
  coloursInRow(y: number): number {
    const colours = new Set<number>();
    for (let x = 0; x < this.width; x++) colours.add(this.#valueAt(x, y));
    return colours.size;
  }

  /** The rows, from top to bottom, whose pixel at `x` is within `tolerance` of a colour. */
  rowsOf(x: number, colour: string, tolerance = 0): number[] {
    const wanted = parseColour(colour);
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

function parseColour(colour: string): number {
  if (!/^#[0-9a-f]{6}$/.test(colour)) throw new TypeError(`"${colour}" is not a colour like #00ff7f`);
  return Number.parseInt(colour.slice(1), 16);
}

function channelDifference(a: number, b: number): number {
  return Math.max(
    Math.abs((a >> 16) - (b >> 16)),
    Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)),
    Math.abs((a & 255) - (b & 255)),
  );
}
