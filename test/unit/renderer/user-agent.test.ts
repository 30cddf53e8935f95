import { expect, test } from 'vitest';
import { describeUserAgent } from '../../../services/renderer/page/user-agent.ts';

const chrome = (system: string, rest = '') =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/151.0.0.0 ${rest}Safari/537.36`;

test.each([
  [
    'Windows',
    chrome('Windows NT 10.0; Win64; x64'),
    'Win32',
    { platform: 'Windows', platformVersion: '10.0.0', architecture: 'x86' },
  ],
  [
    'a Mac',
    chrome('Macintosh; Intel Mac OS X 10_15_7'),
    'MacIntel',
    { platform: 'macOS', platformVersion: '10.15.7', architecture: 'arm' },
  ],
  [
    'Linux',
    chrome('X11; Linux x86_64'),
    'Linux x86_64',
    { platform: 'Linux', platformVersion: '', model: '', formFactors: ['Desktop'] },
  ],
  ['a Chromebook', chrome('X11; CrOS x86_64 14541.0.0'), 'Linux x86_64', { platform: 'Chrome OS' }],
  [
    'a phone',
    chrome('Linux; Android 14; Pixel 7 Build/UQ1A.240105', 'Mobile '),
    'Linux armv81',
    {
      platform: 'Android',
      platformVersion: '14.0.0',
      model: 'Pixel 7',
      mobile: true,
      architecture: '',
      formFactors: ['Mobile'],
    },
  ],
  [
    'a tablet',
    chrome('Linux; Android 13; SM-X710'),
    'Linux armv81',
    { model: 'SM-X710', mobile: false, formFactors: ['Tablet'] },
  ],
])('the client hints match the user agent of %s', (_name, userAgent, platform, hints) => {
  expect(describeUserAgent(userAgent)).toMatchObject({ platform, userAgentMetadata: hints });
});

test('brands are in the order of the Chrome version, with its GREASE brand', () => {
  const brandsOf = (version: number) =>
    describeUserAgent(`Mozilla/5.0 (X11; Linux x86_64) Chrome/${version}.0.0.0 Safari/537.36`).userAgentMetadata
      ?.brands;
  // The brands of released versions.
  expect(brandsOf(124)).toEqual([
    { brand: 'Chromium', version: '124' },
    { brand: 'Google Chrome', version: '124' },
    { brand: 'Not-A.Brand', version: '99' },
  ]);
  expect(brandsOf(126)).toEqual([
    { brand: 'Not/A)Brand', version: '8' },
    { brand: 'Chromium', version: '126' },
    { brand: 'Google Chrome', version: '126' },
  ]);
  const summaryOf = (version: number) => brandsOf(version)?.map(({ brand, version: major }) => `${brand} ${major}`);
  expect(summaryOf(121)).toEqual(['Not A(Brand 99', 'Google Chrome 121', 'Chromium 121']);
  expect(summaryOf(123)).toEqual(['Google Chrome 123', 'Not:A-Brand 8', 'Chromium 123']);
  expect(summaryOf(125)).toEqual(['Google Chrome 125', 'Chromium 125', 'Not.A/Brand 24']);
  expect(summaryOf(127)).toEqual(['Not)A;Brand 99', 'Google Chrome 127', 'Chromium 127']);
  expect(summaryOf(128)).toEqual(['Chromium 128', 'Not;A=Brand 24', 'Google Chrome 128']);
  expect(summaryOf(131)).toEqual(['Google Chrome 131', 'Chromium 131', 'Not_A Brand 24']);
});

test('a browser with a second product token has its own brand', () => {
  const { brands, fullVersionList } =
    describeUserAgent(`${chrome('Windows NT 10.0')} Edg/150.0.3.4`).userAgentMetadata ?? {};
  expect(brands).toContainEqual({ brand: 'Microsoft Edge', version: '150' });
  expect(fullVersionList).toContainEqual({ brand: 'Microsoft Edge', version: '150.0.3.4' });
  expect(JSON.stringify(brands)).not.toContain('Google');
});

test.each([
  [
    'Safari',
    'Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/604.1',
    'iPad',
  ],
  [
    'Chrome on an iPhone',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/151.0 Mobile/15E148',
    'iPhone',
  ],
  ['Firefox', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Linux x86_64'],
  ['a command-line program', 'curl/8.0', 'Linux x86_64'],
])('the user agent of %s has no client hints', (_name, userAgent, platform) => {
  expect(describeUserAgent(userAgent)).toEqual({ platform, userAgentMetadata: undefined });
});
