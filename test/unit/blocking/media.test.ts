import { describe, expect, it } from 'vitest';
import { isConsentScript } from '../../../services/renderer/blocking/requests.ts';
import { isMediaContentType, isMediaUrl } from '../../../services/renderer/blocking/requests.ts';

describe('requests by their address or type', () => {
  it.each([
    ['https://a.test/film.mp4', true],
    ['https://a.test/FILM.MP4?x=1#t=5', true],
    ['https://a.test/live/index.m3u8', true],
    ['https://a.test/sound.ogg', true],
    ['https://a.test/mp4', false],
    ['https://a.test/film.mp4/poster.jpg', false],
    ['https://a.test/?file=film.mp4', false],
    ['https://a.test/module.ts', false],
    ['nothing', false],
  ])('whether %s is the address of media', (url, expected) => expect(isMediaUrl(url)).toBe(expected));

  it.each([
    ['video/mp4', true],
    ['Audio/MPEG; codecs=x', true],
    ['application/vnd.apple.mpegurl', true],
    ['application/x-mpegURL', true],
    ['application/dash+xml', true],
    ['application/json', false],
    ['image/png', false],
    [undefined, false],
  ])('whether %s is a media type', (type, expected) => expect(isMediaContentType(type)).toBe(expected));

  it.each([
    ['https://cdn.cookielaw.org/scripttemplates/otSDKStub.js', true],
    ['https://www.site.test/assets/cookie-banner.js', true],
    ['https://www.site.test/wp-content/plugins/complianz-gdpr/cookiebanner/js/complianz.min.js', true],
    ['https://www.site.test/js.cookie.min.js', false],
    ['https://www.site.test/app.js?consent=1', false],
  ])('whether %s is a consent script', (url, expected) => expect(isConsentScript(url)).toBe(expected));
});
