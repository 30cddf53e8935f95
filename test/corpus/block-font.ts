/**
 * A TrueType font whose letters a to z are all one filled square of one em: text in it is a block of the text's color, with the
 * width of its number of letters, which no other font draws.
 */
export function blockFont(): Buffer {
  const square = words(1, 0, 0, em, em, 3, 0);
  // Four corners, each a full coordinate: x is 0, 0, em, em and y is 0, em, em, 0, as differences.
  const glyph = Buffer.concat([square, Buffer.from([1, 1, 1, 1]), words(0, 0, em, 0, 0, em, 0, -em)]);
  const tables: Readonly<Record<string, Buffer>> = {
    'OS/2': os2(),
    cmap: cmap(),
    glyf: glyph,
    head: head(),
    hhea: words(1, 0, em, 0, 0, em, 0, 0, em, 1, 0, 0, 0, 0, 0, 0, 0, 2),
    hmtx: words(em, 0, em, 0),
    // Glyph 0 is empty, glyph 1 the square; offsets in units of two bytes.
    loca: words(0, 0, glyph.length / 2),
    maxp: words(1, 0, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
    name: words(0, 0, 6),
    post: words(3, 0, ...Array<number>(14).fill(0)),
  };
  return fontFile(tables);
}

const em = 1024;

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => bytes.writeUInt16BE(value & 0xffff, index * 2));
  return bytes;
}

function fontFile(tables: Readonly<Record<string, Buffer>>): Buffer {
  const names = Object.keys(tables);
  const headers: Buffer[] = [words(1, 0, names.length, 128, 3, names.length * 16 - 128)];
  const bodies: Buffer[] = [];
  let offset = 12 + names.length * 16;
  for (const name of names) {
    const table = tables[name] ?? Buffer.alloc(0);
    const padded = Buffer.concat([table, Buffer.alloc(-table.length & 3)]);
    const place = Buffer.alloc(12);
    place.writeUInt32BE(checksum(padded), 0);
    place.writeUInt32BE(offset, 4);
    place.writeUInt32BE(table.length, 8);
    headers.push(Buffer.from(name.padEnd(4), 'latin1'), place);
    bodies.push(padded);
    offset += padded.length;
  }
  return Buffer.concat([...headers, ...bodies]);
}

function checksum(table: Buffer): number {
  let sum = 0;
  for (let at = 0; at < table.length; at += 4) sum = (sum + table.readUInt32BE(at)) >>> 0;
  return sum;
}

/** Returns the `cmap` table, which maps the letters a to z to glyph 1: one segment with a glyph index array. */
function cmap(): Buffer {
  const [first, last] = [0x61, 0x7a];
  const count = last - first + 1;
  const segments = words(4, 32 + count * 2, 0, 4, 4, 1, 0, last, 0xffff, 0, first, 0xffff, 0, 1, 4, 0);
  return Buffer.concat([words(0, 1, 3, 1, 0, 12), segments, words(...Array<number>(count).fill(1))]);
}

function head(): Buffer {
  const table = Buffer.alloc(54);
  table.writeUInt32BE(0x00010000, 0);
  table.writeUInt32BE(0x5f0f3cf5, 12);
  words(0, em).copy(table, 16);
  words(0, 0, em, em, 0, 8, 2, 0, 0).copy(table, 36);
  return table;
}

function os2(): Buffer {
  const table = Buffer.alloc(96);
  words(4, em, 400, 5, 0).copy(table, 0);
  words(0x40, 0x61, 0x7a, em, 0, 0, em, 0).copy(table, 62);
  return table;
}
