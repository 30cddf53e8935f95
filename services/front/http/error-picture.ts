import { crc32, deflateSync } from 'node:zlib';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { LinkError } from '../auth/capture-links.ts';

/** Letters and digits: five columns of seven dots each. The lowest bit is the top dot. */
const glyphs = new Map(
  Object.entries({
    '0': '3e5149453e',
    '1': '00427f4000',
    '2': '4261514946',
    '3': '2141454b31',
    '4': '1814127f10',
    '5': '2745454539',
    '6': '3c4a494930',
    '7': '0171090503',
    '8': '3649494936',
    '9': '064949291e',
    A: '7e1111117e',
    B: '7f49494936',
    C: '3e41414122',
    D: '7f4141221c',
    E: '7f49494941',
    F: '7f09090901',
    G: '3e4149497a',
    H: '7f0808087f',
    I: '00417f4100',
    J: '2040413f01',
    K: '7f08142241',
    L: '7f40404040',
    M: '7f020c027f',
    N: '7f0408107f',
    O: '3e4141413e',
    P: '7f09090906',
    Q: '3e4151215e',
    R: '7f09192946',
    S: '4649494931',
    T: '01017f0101',
    U: '3f4040403f',
    V: '1f2040201f',
    W: '3f4038403f',
    X: '6314081463',
    Y: '0708700807',
    Z: '6151494543',
  }).map(([letter, columns]) => [letter, [...Buffer.from(columns, 'hex')]]),
);
const blank = [0, 0, 0, 0, 0];

/** Pixels of a dot. */
const scale = 2;
/** Dots around the text. */
const margin = 4;
const letterHeight = 7;

/** Rendered pictures by text. There is one text for each error code and for each problem of links. */
const drawn = new Map<string, Buffer>();

/**
 * Renders an error for clients that show only pictures: a small PNG with the status and the code, or the problem of a
 * link.
 */
export function errorPicture(error: ServiceError): Buffer {
  const what = error instanceof LinkError ? error.problem : error.code.replaceAll('_', ' ');
  const text = `${error.status} ${what.toUpperCase()}`;
  const picture = drawn.get(text) ?? drawPng(text);
  drawn.set(text, picture);
  return picture;
}

/** Whether a client accepts pictures but no text, as browsers do for an `<img>`. */
export function wantsPicture(accept: string | undefined): boolean {
  return /\bimage\//i.test(accept ?? '') && !/\b(?:text\/html|application\/json)\b/i.test(accept ?? '');
}

/** Renders black on white with one bit a pixel (PNG, third edition: grayscale of depth 1). */
function drawPng(text: string): Buffer {
  const columns = [...text].flatMap((letter) => [...(glyphs.get(letter) ?? blank), 0]);
  const width = scale * (columns.length - 1 + 2 * margin);
  const height = scale * (letterHeight + 2 * margin);
  // Each line begins with its filter type: none.
  const lines = Array.from({ length: height }, () => Buffer.alloc(1 + Math.ceil(width / 8), 0xff).fill(0, 0, 1));
  for (const [y, line] of lines.entries()) {
    const row = Math.floor(y / scale) - margin;
    for (let x = 0; x < width; x++) {
      const column = columns[Math.floor(x / scale) - margin] ?? 0;
      const isInk = row >= 0 && row < letterHeight && ((column >> row) & 1) === 1;
      if (isInk) line[1 + (x >> 3)] = (line[1 + (x >> 3)] ?? 0) & ~(0x80 >> (x & 7));
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(lines))),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([signature, ...parts]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
