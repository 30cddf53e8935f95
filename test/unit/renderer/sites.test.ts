import { expect, test } from 'vitest';
import { StepSites } from '../../../services/renderer/page/sites.ts';

/** The sites of a capture of `requested`, whose first navigation led to `arrived`. The page is now at `now`. */
function sitesOf(requested: string, now: string, arrived = requested): StepSites {
  let url = arrived;
  const source = requested.startsWith('<')
    ? ({ kind: 'html', html: requested } as const)
    : ({ kind: 'url', url: requested } as const);
  const sites = new StepSites({ url: () => url }, source);
  url = now;
  return sites;
}

const html = 'https://html.webcapture.invalid/';

test.each([
  ['https://example.com/', 'https://www.example.com/a', 'https://www.example.com'],
  ['https://www.example.com/', 'https://example.com:8443/', 'https://example.com:8443'],
  ['http://example.com/', 'https://example.com/', 'https://example.com'],
  ['https://a.example.co.uk/', 'https://b.example.co.uk/', 'https://b.example.co.uk'],
  ['http://127.0.0.1:1/', 'http://127.0.0.1:2/', 'http://127.0.0.1:2'],
  ['http://[::1]:1/', 'http://[::1]:2/', 'http://[::1]:2'],
  ['http://localhost/', 'http://localhost/a', 'http://localhost'],
])('steps of %s may act at %s, and enter values there', (requested, now, origin) => {
  const sites = sitesOf(requested, now);
  expect(() => sites.assertAllowed()).not.toThrow();
  expect(sites.originForValues()).toBe(origin);
});

test('steps of supplied HTML may enter values in it', () => {
  expect(sitesOf('<p>', html, html).originForValues()).toBe('https://html.webcapture.invalid');
});

test.each([
  ['https://example.com/', 'https://example.org/', 'example.org', 'the site of url, example.com'],
  ['https://a.example.co.uk/', 'https://other.co.uk/', 'other.co.uk', 'the site of url, example.co.uk'],
  ['https://one.github.io/', 'https://other.github.io/', 'other.github.io', 'the site of url, one.github.io'],
  ['http://127.0.0.1/', 'http://127.0.0.2/', '127.0.0.2', 'the site of url, 127.0.0.1'],
  ['<p>', 'https://example.com/', 'example.com', 'the supplied html'],
])('steps of %s may not act at %s', (requested, now, other, own) => {
  const sites = sitesOf(requested, now, requested.startsWith('<') ? html : requested);
  expect(() => sites.assertAllowed()).toThrow(`it leads to another site, ${other}. Steps stay on ${own}.`);
  expect(() => sites.originForValues()).toThrow(`the page is on another site, ${other}. Values are entered only on`);
});

test('at the site to which the first navigation led, steps may act, but not enter values', () => {
  const sites = sitesOf('https://example.com/', 'https://login.example.org/b', 'https://example.org/a');
  expect(() => sites.assertAllowed()).not.toThrow();
  expect(() => sites.assertAllowed('https://example.net/')).toThrow('it leads to another site, example.net');
  expect(() => sites.originForValues()).toThrow('Values are entered only on the site of url, example.com');
});

test('no value is entered without https if url has https', () => {
  expect(() => sitesOf('https://example.com/', 'http://example.com/').originForValues()).toThrow(
    'the page is not on https, but url is. Values are not entered there.',
  );
});
