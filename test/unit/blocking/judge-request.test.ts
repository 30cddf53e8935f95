import { describe, expect, it } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { compileEngine } from '../../../services/renderer/blocking/filter-engine.ts';
import { judgeRequest, type PageRequest } from '../../../services/renderer/blocking/requests.ts';

const engines = {
  ads: compileEngine('||ads.test^\n@@||ads.test/allowed.js\n/banner/$image\n||partly.test^$third-party').engine,
  trackers: compileEngine('||tracker.test^$script\n||only-there.test^$domain=there.test').engine,
  cookies: compileEngine('||consent.test^').engine,
  chats: compileEngine('||chat.test^$third-party').engine,
  newsletters: compileEngine('||popup.test^').engine,
};
const all = { ads: true, trackers: true, media: true, cookieBanners: true, chats: true, newsletters: true };

const request = (url: string, more: Partial<PageRequest> = {}): PageRequest => ({
  url,
  resourceType: 'Script',
  documentUrl: 'https://www.site.test/',
  isMainDocument: false,
  ...more,
});

describe('judgeRequest', () => {
  it.each([
    ['a subdomain of a listed host', request('https://x.ads.test/a.js'), 'ads'],
    ['an exception in a list', request('https://x.ads.test/allowed.js'), null],
    ['a host that ends in the letters of a listed one', request('https://notads.test/a.js'), null],
    ['a listed path with the type of the rule', request('https://a.test/banner/1', { resourceType: 'Image' }), 'ads'],
    ['a listed path with another type', request('https://a.test/banner/1', { resourceType: 'Script' }), null],
    ['a third-party request', request('https://partly.test/a.js'), 'ads'],
    [
      'the same host as a first-party request',
      request('https://partly.test/a.js', { documentUrl: 'https://www.partly.test/' }),
      null,
    ],
    ['a tracker', request('https://tracker.test/a.js'), 'trackers'],
    [
      'a type that the tracker rule excludes',
      request('https://tracker.test/a.css', { resourceType: 'Stylesheet' }),
      null,
    ],
    ['a rule for another site', request('https://only-there.test/a.js'), null],
    [
      'a rule for this site',
      request('https://only-there.test/a.js', { documentUrl: 'https://there.test/' }),
      'trackers',
    ],
    ['a consent manager', request('https://consent.test/a.js'), 'cookieBanners'],
    ['a chat widget', request('https://chat.test/a.js'), 'chats'],
    ['an overlay of a newsletter', request('https://popup.test/a.js'), 'newsletters'],
    ['the main document', request('https://ads.test/', { resourceType: 'Document', isMainDocument: true }), null],
    ['a frame', request('https://ads.test/', { resourceType: 'Document' }), 'ads'],
    ['audio or video', request('https://a.test/x', { resourceType: 'Media' }), 'media'],
    ['a video that a script requests', request('https://a.test/x.m3u8?a=1', { resourceType: 'XHR' }), 'media'],
    [
      'a video as the main document',
      request('https://a.test/x.mp4', { resourceType: 'Document', isMainDocument: true }),
      null,
    ],
    ['an image whose name ends like a video', request('https://a.test/x.mp4', { resourceType: 'Image' }), null],
    ['a font', request('https://a.test/x.woff2', { resourceType: 'Font' }), null],
    ['an invalid address', request('not an address'), null],
  ])('%s', (_name, asked, expected) => {
    expect(judgeRequest(asked, all, engines)).toBe(expected);
    expect(judgeRequest(asked, blockNothing, engines)).toBe(null);
  });

  it('uses only the lists of the options that are enabled', () => {
    const asked = request('https://x.ads.test/a.js');
    expect(judgeRequest(asked, { ...all, ads: false }, engines)).toBe(null);
    expect(judgeRequest(asked, { ...blockNothing, ads: true }, engines)).toBe('ads');
  });
});
