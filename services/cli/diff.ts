import { Command, InvalidArgumentError } from 'commander';
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';
import { comparePictures, type Pixels } from '@webcapture/shared/files/picture-difference.ts';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { checkWritable, readUserFile, writeAtomically } from './files.ts';
import { readAll } from './terminal.ts';
import { json } from './json.ts';
import { percentOf, plainText } from './text.ts';

interface DiffFlags {
  readonly output?: string;
  readonly threshold: number;
  readonly maxDiff: number;
  readonly json?: boolean;
}

/** Maximum number of pixels. Comparing more would need several gigabytes of memory. */
const maxPixels = 300_000_000;

const changedColor = [255, 0, 0] as const;
const outsideColor = [255, 0, 255] as const;

const help = `
Pixels that differ only by anti-aliasing count as equal. If one picture is larger, the additional area counts as
different. The pictures can be PNG and JPEG files, also one of each; for comparisons, capture with --format png.

Exit code 0: the share of different pixels is at most --max-diff. 1: it is larger.

Examples:
  webcapture diff before.png after.png -o difference.png
  webcapture capture https://example.com -o - | webcapture diff expected.png - --max-diff 0.1%`;

export function diffCommand(context: Context): Command {
  return new Command('diff')
    .description('Compare two pictures, for visual regression tests.')
    .argument('<a>', 'expected picture, a PNG or JPEG file, or - for standard input')
    .argument('<b>', 'actual picture, a PNG or JPEG file, or -')
    .option('-o, --output <file>', 'PNG file that shows the differences')
    .option('--threshold <number>', 'maximum difference of two equal colors, from 0 to 1', fraction, 0.1)
    .option('--max-diff <share>', 'maximum share of different pixels, such as 0.001 or 0.1%', share, 0)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', help)
    .action((a: string, b: string, flags: DiffFlags) => diff(context, [a, b], flags));
}

function fraction(text: string): number {
  const value = Number(text);
  if (/^\d*\.?\d+$/.test(text) && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}

function share(text: string): number {
  const percent = /^(\d*\.?\d+)%$/.exec(text)?.[1];
  const value = percent === undefined ? Number(text) : Number(percent) / 100;
  if ((percent !== undefined || /^\d*\.?\d+$/.test(text)) && value <= 1) return value;
  throw new InvalidArgumentError('It must be a share from 0 to 1, or a percentage from 0% to 100%.');
}

async function diff({ terminal, setExit }: Context, names: readonly [string, string], flags: DiffFlags): Promise<void> {
  if (names[0] === '-' && names[1] === '-')
    throw new CliError('usage', 'Only one of the pictures can be standard input.');
  if (flags.output !== undefined) await checkWritable(flags.output);
  const read = async (name: string) =>
    decode(name === '-' ? await readAll(terminal.stdin) : await readUserFile(name), name);
  const a = await read(names[0]);
  const b = await read(names[1]);
  const { threshold, maxDiff, output } = flags;
  const difference = comparePictures(a, b, { threshold, changedColor, outsideColor });
  if (output !== undefined) await writeAtomically(output, encode(difference.picture));

  const { changedPixels: differentPixels, changedShare } = difference;
  const totalPixels = difference.picture.width * difference.picture.height;
  const differs = changedShare > maxDiff;
  const sizes = { a: { width: a.width, height: a.height }, b: { width: b.width, height: b.height } };
  if (flags.json === true) {
    const numbers = { differentPixels, totalPixels, share: changedShare, maxDiff };
    terminal.stdout.write(json({ differs, ...numbers, ...sizes }));
  } else {
    if (a.width !== b.width || a.height !== b.height) {
      terminal.stdout.write(`The sizes differ: ${a.width} × ${a.height} and ${b.width} × ${b.height} pixels.\n`);
    }
    const verdict = differentPixels === 0 ? 'The pictures are equal' : `${percentOf(changedShare)} differ`;
    const allowed = maxDiff === 0 ? '' : `; ${percentOf(maxDiff)} allowed`;
    terminal.stdout.write(`${verdict}: ${differentPixels} of ${totalPixels} pixels${allowed}.\n`);
  }
  if (differs) setExit('negative');
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function decode(bytes: Buffer, name: string): Pixels {
  const isPng = bytes.subarray(0, 8).equals(pngSignature);
  const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8;
  if (!isPng && !isJpeg) {
    throw new CliError('usage', `${name} is neither PNG nor JPEG. Capture with --format png to compare.`);
  }
  if (isPng && bytes.length >= 24) {
    const width = bytes.readUInt32BE(16);
    const height = bytes.readUInt32BE(20);
    if (width * height > maxPixels)
      throw new CliError('usage', `${name} is too large to compare: ${width} × ${height} pixels.`);
  }
  try {
    if (isPng) return PNG.sync.read(bytes);
    return jpeg.decode(bytes, { maxResolutionInMP: maxPixels / 1e6, maxMemoryUsageInMB: 4096, useTArray: true });
  } catch (error) {
    throw new CliError('usage', `${name} is damaged: ${plainText((error as Error).message)}.`, { cause: error });
  }
}

function encode({ width, height, data }: Pixels): Buffer {
  const png = new PNG({ width, height });
  png.data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return PNG.sync.write(png);
}
