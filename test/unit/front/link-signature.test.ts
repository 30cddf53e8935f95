import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalLink, isSignedWith, type LinkParameter } from '../../../services/front/auth/link-signature.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."ab-._~!'()*+ %&=/?#[]@:ü€😀\0"), maxLength: 12 }),
);
const parameters = fc.array(fc.tuple(text, text), { maxLength: 12 });

/** Encodes by bytes, independent of encodeURIComponent. */
function encode(value: string): string {
  const unreserved = /[A-Za-z0-9\-._~]/;
  return [...Buffer.from(value)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return unreserved.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

test('the signed text contains the encoded pairs, sorted by the bytes of their names, then of their values', () => {
  fc.assert(
    fc.property(parameters, (pairs) => {
      const encoded = pairs
        .filter(([name]) => name !== 'signature')
        .map(([name, value]) => [encode(name), encode(value)] as const)
        .toSorted(
          ([a, x], [b, y]) =>
            Buffer.compare(Buffer.from(a), Buffer.from(b)) || Buffer.compare(Buffer.from(x), Buffer.from(y)),
        );
      expect(canonicalLink(pairs)).toBe(`GET /capture?${encoded.map((pair) => pair.join('=')).join('&')}`);
    }),
  );
});

test('the signed text has all parameters with any characters, independent of their order', () => {
  fc.assert(
    fc.property(parameters, (pairs) => {
      const signed = pairs.filter(([name]) => name !== 'signature');
      const read = [...new URLSearchParams(canonicalLink(pairs).slice('GET /capture?'.length))];
      const inOrder = (list: readonly LinkParameter[]) => list.map((pair) => JSON.stringify(pair)).toSorted();
      // A query of one pair with empty name and value has no pairs for URLSearchParams.
      expect(inOrder(read)).toEqual(inOrder(signed.length === 1 && signed[0]?.join('') === '' ? read : signed));
      expect(canonicalLink(pairs.toReversed())).toBe(canonicalLink(pairs));
    }),
  );
});

test('a name that starts with another name is sorted after it', () => {
  const pairs: LinkParameter[] = [
    ['a.b', '1'],
    ['a', '2'],
    ['a', '10'],
    ['A', '3'],
    ['a-b', '4'],
  ];
  expect(canonicalLink(pairs)).toBe('GET /capture?A=3&a=10&a=2&a-b=4&a.b=1');
});

test('the example in docs/capture-links.md is correct', async () => {
  const page = await readFile(new URL('../../../docs/capture-links.md', import.meta.url), 'utf8');
  const cells = (row: string) => {
    const line = page.split('\n').find((each) => each.startsWith(`| ${row} `)) ?? '';
    return [...line.matchAll(/`([^`]+)`/g)].map(([, value = '']) => value);
  };
  const names = cells('parameters');
  const pairs = names.flatMap((name, index): LinkParameter[] =>
    index % 2 === 0 ? [[name, names[index + 1] ?? '']] : [],
  );
  expect(pairs).toHaveLength(6);
  expect(cells('text')).toEqual([canonicalLink(pairs)]);
  expect(isSignedWith(cells('secret'), pairs, cells('signature')[0] ?? '')).toBe(true);
});

test('a signature is valid if one of the secrets made it, in lower-case hex', () => {
  const pairs: LinkParameter[] = [
    ['url', 'https://example.com/'],
    ['key', 'k'],
  ];
  const signature = createHmac('sha256', 'wcs_two')
    .update('GET /capture?key=k&url=https%3A%2F%2Fexample.com%2F')
    .digest('hex');
  const signed: LinkParameter[] = [...pairs, ['signature', signature]];
  expect(isSignedWith(['wcs_one', 'wcs_two'], signed, signature)).toBe(true);
  expect(isSignedWith(['wcs_one'], signed, signature)).toBe(false);
  expect(isSignedWith([], signed, signature)).toBe(false);
  for (const wrong of ['', signature.toUpperCase(), signature.slice(1), `${signature}0`, 'ü'.repeat(32)]) {
    expect(isSignedWith(['wcs_two'], signed, wrong)).toBe(false);
  }
});
