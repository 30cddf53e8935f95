interface Parts {
  /** The content stream of each page. */
  readonly contents?: readonly (string | Buffer)[];
  /** Entries of the dictionary of each stream besides the length. */
  readonly entries?: string;
  /** Objects after those of the pages. */
  readonly objects?: readonly string[];
  /** Size of each page, in points. Default: 600 × 800. */
  readonly size?: readonly [width: number, height: number];
}

/** Returns a PDF as Chromium writes it. */
export function chromiumPdf({ contents = [''], entries = '', objects = [], size = [600, 800] }: Parts): Buffer {
  const pieces = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  const sizeOf = () => Buffer.concat(pieces).length;
  const add = (...body: readonly (string | Buffer)[]) => {
    offsets.push(sizeOf());
    pieces.push(Buffer.from(`${offsets.length} 0 obj\n`), ...body.map((each) => Buffer.from(each as string, 'latin1')));
    pieces.push(Buffer.from('\nendobj\n'));
  };
  contents.forEach((content, page) => {
    add(`<</Type /Page\n/MediaBox [0 0 ${size.join(' ')}]\n/Contents ${2 * page + 2} 0 R>>`);
    add(`<<${entries}/Length ${content.length}>> stream\n`, content, '\nendstream');
  });
  for (const each of objects) add(each);
  const start = sizeOf();
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const count = offsets.length + 1;
  const end = `xref\n0 ${count}\n0000000000 65535 f \n${table}trailer\n<</Size ${count}\n/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.concat([...pieces, Buffer.from(end)]);
}
