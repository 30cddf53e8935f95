import fc from 'fast-check';

/** Pieces that parsers often handle wrongly: delimiters, escapes, terminators, halves of characters. */
const pieces = [
  `= < > " ' \\ / . : ; , @ % # ? & + - _ * [ ] { } ( ) 0 1 9 a A x e é 。 １ 🙂`.split(' '),
  [' ', '\0', '\t', '\n', '\r', '\r\n', '\u007f', '\u00a0', '\u2028', '\u202e', '\ufeff', '\ufffd', '\ud800', '\udc00'],
  '%00 %2f \\u0000 &#0; <!-- __proto__ constructor null true NaN 1e999 -0 bytes= http:// // .. ::1'.split(' '),
  ['Bearer '],
].flat();

/** A repeated piece with an end that does not match, which takes quadratic time in a search that backtracks. */
export const repeated = (max: number) =>
  fc
    .tuple(fc.constantFrom(...pieces), fc.integer({ min: 0, max }), fc.constantFrom(...pieces, ''))
    .map(([piece, count, end]) => piece.repeat(count) + end);

/** Arbitrary text; one in 400 is long. */
export const text = fc.oneof(
  { weight: 120, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
  { weight: 80, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 100, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((some) => some.join('')) },
  { weight: 99, arbitrary: repeated(200) },
  { weight: 1, arbitrary: repeated(60_000) },
);

/** A text with a few changes: something is inserted, removed or doubled. */
export function changed(of: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 0, max: 20 }),
    put: fc.oneof(fc.constantFrom(...pieces), fc.constant(''), fc.constant(null)),
  });
  return fc.tuple(of, fc.array(change, { maxLength: 4 })).map(([original, changes]) =>
    changes.reduce((value, { at, length, put }) => {
      const start = Math.floor(at * value.length);
      const middle = value.slice(start, start + length);
      return value.slice(0, start) + (put ?? middle + middle) + value.slice(start + length);
    }, original),
  );
}

/** Text that a header can contain: Node.js refuses other characters, and headers above 16 KiB. */
export const headerText = text.map((value) =>
  Buffer.from(value, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
    .slice(0, 8000),
);

/** An arbitrary JSON value, usually small. */
export const json = fc.oneof(
  { weight: 6, arbitrary: fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null)) },
  { weight: 2, arbitrary: fc.jsonValue({ depthSize: 'small' }) },
);

/** A value with one part replaced or removed. */
export function altered<T>(value: T): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.array(fc.tuple(fc.nat(), fc.option(json, { nil: undefined, freq: 8 })), { maxLength: 3 }))
    .map(([changes]) =>
      changes.reduce<unknown>((whole, [place, put]) => alter(whole, place, put), structuredClone(value)),
    );
}

function alter(value: unknown, place: number, put: unknown): unknown {
  if (value === null || typeof value !== 'object') return put;
  const keys = Object.keys(value);
  const key = keys[place % (keys.length + 1)];
  if (key === undefined) return put;
  const inner = (value as Record<string, unknown>)[key];
  const next = { ...value, [key]: alter(inner, Math.floor(place / (keys.length + 1)), put) };
  return Array.isArray(value) ? Object.values(next) : next;
}

const byte = fc.integer({ min: 0, max: 255 });
/** Addresses that captures may not reach. */
const privateAddress = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127, 240, 255), byte, byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.constant([169, 254, 169, 254] as const),
);

const notations = ['decimal', 'octal', 'hex', 'HEX'] as const;
const part = (value: number, notation: (typeof notations)[number]) =>
  ({
    decimal: String(value),
    octal: `0${value.toString(8)}`,
    hex: `0x${value.toString(16)}`,
    HEX: `0X00${value.toString(16).toUpperCase()}`,
  })[notation];

/** A private address in one of the notations that browsers and resolvers accept. */
export const privateHost: fc.Arbitrary<string> = fc
  .tuple(
    privateAddress,
    fc.array(fc.constantFrom(...notations), { minLength: 4, maxLength: 4 }),
    fc.integer({ min: 1, max: 4 }),
    fc.nat({ max: 8 }),
  )
  .map(([bytes, notation, parts, form]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes;
    const hex = (high: number, low: number) => ((high << 8) | low).toString(16);
    const pair = `${hex(a, b)}:${hex(c, d)}`;
    const dotted = bytes.join('.');
    const heads = bytes.slice(0, parts - 1).map((value, index) => part(value, notation[index] ?? 'decimal'));
    const last = bytes.slice(parts - 1).reduce((sum, value) => sum * 256 + value, 0);
    const numbers = [...heads, part(last, notation[3] ?? 'decimal')].join('.');
    return (
      [
        numbers,
        `${numbers}.`,
        numbers.replaceAll('.', '。'),
        numbers.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
        numbers.replaceAll(/[.\dx]/gi, (char) => `%${char.codePointAt(0)?.toString(16)}`),
        `[::ffff:${dotted}]`,
        `[::FFFF:${pair}]`,
        `[::${pair}]`,
        `[64:ff9b::${pair}]`,
      ][form] ?? numbers
    );
  });

export const host = fc.oneof(
  { weight: 3, arbitrary: privateHost },
  {
    weight: 2,
    arbitrary: fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV4Extended(),
      fc.ipV6().map((address) => `[${address}]`),
    ),
  },
  { weight: 2, arbitrary: changed(fc.oneof(fc.domain(), privateHost, fc.ipV6())) },
  { weight: 2, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'localhost',
      'LOCALHOST.',
      'a.localhost',
      'metadata.google.internal',
      '[::]',
      '[::1%25lo]',
    ),
  },
);

/** Addresses, most of them almost valid. */
export const url = changed(
  fc
    .record({
      scheme: fc.constantFrom('http', 'https', 'HTTP', 'ftp', 'file', 'javascript', 'data', 'ws', 'http:http', ''),
      slashes: fc.constantFrom('://', '://', '://', ':', ':/', ':\\\\', ':////'),
      user: fc.constantFrom('', '', '', 'user@', 'user:secret@', '@', 'a@b@'),
      host,
      port: fc.oneof(
        fc.constant(''),
        fc.integer({ min: -1, max: 70_000 }).map((port) => `:${port}`),
        fc.constantFrom(':', ':80', ':6379', ':0x50'),
      ),
      rest: fc.oneof(fc.webPath(), text),
    })
    .map(({ scheme, slashes, user, host: name, port, rest }) => `${scheme}${slashes}${user}${name}${port}${rest}`),
);
