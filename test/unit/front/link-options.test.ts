import process from 'node:process';
import { expect, test } from 'vitest';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { LinkParameter } from '../../../services/front/auth/link-signature.ts';
import { bodyOfLink, linkOptionSchemas } from '../../../services/front/plugins/capture-links/link-options.ts';

/** Returns the body of a link with these parameters, without the fields that every link has. */
function read(...parameters: readonly LinkParameter[]): object {
  const { responseType, responseCache, ...rest } = bodyOfLink(parameters);
  expect([responseType, responseCache]).toEqual(['file', { enabled: true }]);
  return rest;
}

test.each<readonly [readonly LinkParameter[], object]>([
  [[['url', 'https://example.com/']], { url: 'https://example.com/' }],
  [[['quality', '50']], { quality: 50 }],
  [[['quality', '50.5']], { quality: 50.5 }],
  [[['quality', '050']], { quality: '050' }],
  [[['quality', '']], { quality: '' }],
  [[['quality', 'true']], { quality: 'true' }],
  [[['viewport.deviceScaleFactor', '1.5']], { viewport: { deviceScaleFactor: 1.5 } }],
  [[['viewport', '{"width": 800}']], { viewport: { width: 800 } }],
  [[['viewport', '[800]']], { viewport: '[800]' }],
  [
    [
      ['isFullPage', 'true'],
      ['block.ads', 'false'],
    ],
    { isFullPage: true, block: { ads: false } },
  ],
  [[['isFullPage', '1']], { isFullPage: '1' }],
  [[['isFullPage', 'null']], { isFullPage: 'null' }],
  // A text option stays a string, even if it looks like a number or JSON.
  [[['waitFor.text', '5']], { waitFor: { text: '5' } }],
  [[['waitFor.text', '"quoted"']], { waitFor: { text: '"quoted"' } }],
  [[['locale', '{}']], { locale: '{}' }],
  [[['hide', '.a']], { hide: ['.a'] }],
  [
    [
      ['hide', '.b'],
      ['hide', '.a'],
    ],
    { hide: ['.b', '.a'] },
  ],
  [[['hide', '["#b", ".a"]']], { hide: ['#b', '.a'] }],
  [[['hide', '[]']], { hide: [] }],
  [[['hide', '[href]']], { hide: ['[href]'] }],
  [
    [
      ['hide', '["#b"]'],
      ['hide', '.a'],
    ],
    { hide: ['["#b"]', '.a'] },
  ],
  [
    [
      ['failOn.status', '503'],
      ['failOn.status', '4xx'],
    ],
    { failOn: { status: [503, '4xx'] } },
  ],
  [[['pdf.margin', '5']], { pdf: { margin: 5 } }],
  [[['pdf.margin', '5mm']], { pdf: { margin: '5mm' } }],
  [[['pdf.margin', '{"top": "1cm"}']], { pdf: { margin: { top: '1cm' } } }],
  [
    [
      ['pdf.margin.top', '5'],
      ['pdf.margin.left', '1cm'],
    ],
    { pdf: { margin: { top: 5, left: '1cm' } } },
  ],
  // The unknown part of a name is not split at its dots. The validation refuses it.
  [[['viewport.widht.x', '1']], { viewport: { 'widht.x': '1' } }],
  [[['quality.x', '1']], { quality: { x: '1' } }],
  [[['', '1']], { '': '1' }],
])('the parameters %j give %j', (parameters, body) => {
  expect(read(...parameters)).toEqual(body);
});

test('names of built-in properties are ordinary fields', () => {
  const body = read(['__proto__.polluted', '1'], ['viewport.__proto__', '1'], ['constructor', '1']);
  expect(Object.keys(body)).toEqual(['__proto__.polluted', 'viewport', 'constructor']);
  expect(Object.keys((body as { viewport: object }).viewport)).toEqual(['__proto__']);
  expect('polluted' in {}).toBe(false);
});

test.each<readonly [readonly LinkParameter[], string]>([
  [
    [
      ['quality', '1'],
      ['quality', '2'],
    ],
    'quality must be given once',
  ],
  [
    [
      ['viewport', '{}'],
      ['viewport.width', '1'],
    ],
    'viewport.width must be given once',
  ],
  [
    [
      ['viewport.width', '1'],
      ['viewport', '{}'],
    ],
    'viewport must be given once',
  ],
  [
    [
      ['html', '<p>'],
      ['webhook.url', 'x'],
    ],
    'html cannot be in a link: an address cannot hold a page; webhook cannot be in a link',
  ],
  [[['responseCache.enabled', 'false']], 'responseCache.enabled cannot be false in a link'],
])('%j is refused: %s', (parameters, message) => {
  expect(() => bodyOfLink(parameters)).toThrow(message);
});

test('a name with many dots is parsed in time that is linear in its length', () => {
  const used = process.cpuUsage();
  const name = `hide${'.'.repeat(60_000)}`;
  expect(bodyOfLink([[name, 'x']])).toHaveProperty('hide');
  // An algorithm with quadratic time would take ten seconds.
  expect(process.cpuUsage(used).user / 1000).toBeLessThan(1000);
});

test('the cache is enabled, with the ttl of the link', () => {
  expect(bodyOfLink([['responseCache.ttl', '60']])['responseCache']).toEqual({ enabled: true, ttl: 60 });
  expect(bodyOfLink([['responseCache', '{"ttl": 60}']])['responseCache']).toEqual({ enabled: true, ttl: 60 });
  expect(bodyOfLink([['responseCache', 'on']])['responseCache']).toBe('on');
});

test('no option has the name of a parameter of the signature', () => {
  const options = Object.keys(captureRequestSchema.properties);
  for (const name of ['key', 'expires', 'signature']) expect(options).not.toContain(name);
});

test('linkOptionSchemas lists options by their dotted names', () => {
  const schemas = linkOptionSchemas();
  expect(schemas['viewport.width']).toMatchObject({ type: 'integer', maximum: 7680 });
  expect(schemas['pdf.margin']).toHaveProperty('anyOf');
  for (const name of ['viewport', 'html', 'webhook.url', 'responseType']) expect(schemas).not.toHaveProperty([name]);
});
