import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { Api } from '../../harness/api.ts';
import { apiOf, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let api: Api;
beforeAll(async () => {
  front = await startTestFront();
  api = apiOf(front);
});
afterAll(() => front[Symbol.asyncDispose]());

const source = { url: 'https://example.com/' };

async function optionsOf(request: object): Promise<unknown> {
  const { uuid } = await api.captured({ ...source, ...request });
  return (await api.call<CaptureHistory>('GET', `/captures/${uuid}/history`)).options;
}

test.each<object>([
  {},
  { format: 'webp', quality: 50, isFullPage: true, colorScheme: 'dark', delay: 10, region: 'us-east', cdnTtl: 3600 },
  { viewport: { width: 400 }, block: { ads: true }, hide: ['.ad'], javaScript: false, extract: ['links', 'text'] },
  {
    waitFor: { selector: '#done', timeout: 9000 },
    clip: { x: 0, y: 0, width: 10, height: 10 },
    failOn: { blank: true },
  },
  { persistence: { enabled: true, refreshInterval: 7200 }, responseCache: { enabled: true, ttl: 600 } },
  { persistence: { enabled: true, schedule: { cron: '0 6 * * 1-5', timeZone: 'Europe/Berlin' }, history: 5 } },
  {
    persistence: {
      enabled: true,
      compare: { minShare: 0.01, ignoreAreas: [{ x: 0, y: 0, width: 100, height: 20 }] },
    },
  },
  { device: 'iPhone 15', locale: 'de-DE', geolocation: { latitude: 1, longitude: 2 } },
  { device: 'iPhone 15 landscape', viewport: { width: 1280 } },
  { format: 'pdf', pdf: { paper: 'A5', landscape: true, margin: 'css', pageRanges: '1-2' } },
  { format: 'pdf', pdf: { width: 100, height: 50, margin: 0, metadata: { title: 'T' } } },
  { format: 'pdf', pdf: { margin: { top: 1, right: 2, bottom: 3, left: 4 } } },
])('a capture shows the options of its request that differ from the defaults: %j', async (request) => {
  expect(await optionsOf(request)).toEqual(request);
});

test('defaults that a request names are not shown', async () => {
  expect(await optionsOf({ format: 'png', viewport: { width: 1280, height: 720 }, pdf: undefined })).toEqual({});
});

test('secrets and attachments of a request are not shown', async () => {
  const secrets = {
    headers: { 'X-Key': 'hidden-1' },
    cookies: [{ name: 'id', value: 'hidden-2' }],
    auth: { username: 'hidden-3', password: 'hidden-4' },
    css: '.hidden-5 {}',
    script: 'hidden6()',
  };
  const attachments = [{ name: 'a.txt', content: Buffer.from('hidden-7').toString('base64') }];
  const encryption = { userPassword: 'hidden-8', ownerPassword: 'hidden-9' };
  const options = await optionsOf({ ...secrets, format: 'pdf', delay: 10, pdf: { attachments, encryption } });
  expect(options).toEqual({ format: 'pdf', delay: 10 });
});
