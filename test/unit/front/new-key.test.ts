import { expect, test } from 'vitest';
import { crc32 } from 'node:zlib';
import { newApiKey } from '../../../services/front/auth/new-key.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test('keys are 32 random characters and their checksum, and are unique', () => {
  const keys = Array.from({ length: 1000 }, newApiKey);
  expect(new Set(keys).size).toBe(1000);
  for (const key of keys) {
    const [, random = '', sum = ''] = /^wc_live_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/.exec(key) ?? [];
    expect([...sum].reduce((value, digit) => value * 62 + base62.indexOf(digit), 0)).toBe(crc32(random));
  }
  // Without a bug, each of the 62 characters occurs among 32,000 random ones.
  expect(new Set(keys.map((key) => key.slice(8, 40)).join('')).size).toBe(62);
});
