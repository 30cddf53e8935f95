import { describe, expect, test } from 'vitest';
import { readFrontConfig } from '../../../services/front/config.ts';

const variable = 'WEBCAPTURE_CORS_ORIGINS';
const originsOf = (value: string) => readFrontConfig({ [variable]: value }).corsOrigins;

test('no origins by default', () => {
  expect(readFrontConfig({}).corsOrigins).toEqual([]);
  expect(originsOf(' ')).toEqual([]);
});

test.each([
  ['https://app.example.com', ['https://app.example.com']],
  [
    ' https://app.example.com , http://localhost:5173,https://xn--bcher-kva.example:8443',
    ['https://app.example.com', 'http://localhost:5173', 'https://xn--bcher-kva.example:8443'],
  ],
  ['http://[::1]:3000', ['http://[::1]:3000']],
  ['*', ['*']],
])('%s is accepted', (value, origins) => {
  expect(originsOf(value)).toEqual(origins);
});

describe('a list with an entry that no browser sends stops the start', () => {
  test.each([
    ['https://app.example.com/', 'has a slash at its end: write https://app.example.com'],
    ['https://app.example.com/app', 'has more than an origin: write https://app.example.com'],
    ['https://app.example.com/?x', 'has more than an origin: write https://app.example.com'],
    ['https://app.example.com/#x', 'has more than an origin: write https://app.example.com'],
    ['https://me:secret@app.example.com', 'has a user name or a password: write https://app.example.com'],
    ['https://App.example.com', 'is not what browsers send: write https://app.example.com'],
    ['https://app.example.com:443', 'is not what browsers send: write https://app.example.com'],
    ['https://bücher.example', 'is not what browsers send: write https://xn--bcher-kva.example'],
    ['app.example.com', 'is not an http or https origin: write https://app.example.com'],
    ['localhost:5173', 'is not an http or https origin: write https://localhost:5173'],
    ['null', 'is not an http or https origin: write one such as https://app.example.com'],
    ['ftp://app.example.com', 'is not an http or https origin: write one such as https://app.example.com'],
    ['https://', 'is not an http or https origin: write one such as https://app.example.com'],
    ['https://*.example.com', 'has a wildcard: write each origin, such as https://app.example.com, or * alone'],
  ])('%s', (value, problem) => {
    expect(() => originsOf(value)).toThrow(`${variable} "${value}" ${problem}`);
  });

  test('"*" with other origins', () => {
    expect(() => originsOf('*,https://app.example.com')).toThrow(
      `${variable} "*" allows every origin: write only "*", or only the other origins`,
    );
  });

  test('all invalid entries are named', () => {
    expect(() => originsOf('https://a.example/,https://b.example,c.example')).toThrow(
      /"https:\/\/a\.example\/" [^;]+; "c\.example" /,
    );
  });
});
