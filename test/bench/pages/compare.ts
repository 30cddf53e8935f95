import sharp from 'sharp';
import type { SlowScroll } from './slow-scroll.ts';

/** Width at which pictures are compared. At this width, a shift of a few pixels and the edges of letters do not count. */
const compareWidth = 160;
/** Minimum difference of a channel (0 to 255) from which pixels differ. */
const maxDrift = 48;

/**
 * Returns the share of pixels that differ between a capture and what a person has seen, from 0 to 1. Includes the rows that only the taller
 * picture has, and excludes the areas that fixed elements cover.
 */
export async function differenceOf(png: Buffer, seen: SlowScroll): Promise<number> {
  const pixels = async (bytes: Buffer) => {
    const image = sharp(bytes, { limitInputPixels: false, unlimited: true })
      .removeAlpha()
      .resize({ width: compareWidth });
    return image.raw().toBuffer({ resolveWithObject: true });
  };
  const [capture, reference] = await Promise.all([pixels(png), pixels(seen.png)]);
  const { width: original } = await sharp(seen.png, { limitInputPixels: false, unlimited: true }).metadata();
  const scale = compareWidth / original;
  const rows = Math.max(capture.info.height, reference.info.height);
  const covered = new Uint8Array(rows * compareWidth);
  for (const { x, y, width, height } of seen.fixed) {
    const right = Math.min(compareWidth, Math.ceil((x + width) * scale));
    for (
      let row = Math.max(0, Math.floor(y * scale));
      row < Math.min(rows, Math.ceil((y + height) * scale));
      row += 1
    ) {
      covered.fill(1, row * compareWidth + Math.max(0, Math.floor(x * scale)), row * compareWidth + Math.max(0, right));
    }
  }
  let [counted, different] = [0, 0];
  for (let at = 0; at < covered.length; at += 1) {
    if (covered[at] === 1) continue;
    counted += 1;
    const differs = [0, 1, 2].some(
      (channel) =>
        Math.abs((capture.data[at * 3 + channel] ?? -255) - (reference.data[at * 3 + channel] ?? -255)) > maxDrift,
    );
    if (differs) different += 1;
  }
  return counted === 0 ? 0 : different / counted;
}
