import { expect, test } from 'vitest';
import { omitDefaults } from '../../../services/front/capture/omit-defaults.ts';

const url = 'https://example.com/';

test.each<[what: string, value: object, inRequest: object, inDisplay: object]>([
  ['an optional default is left out', { url, javaScript: true }, { url }, { url }],
  [
    'another value stays',
    { url, javaScript: false, delay: 5 },
    { url, javaScript: false, delay: 5 },
    { url, javaScript: false, delay: 5 },
  ],
  ['a required default stays in a request', { url, quality: 80 }, { url, quality: 80 }, { url }],
  [
    'an optional default of a part is left out',
    { failOn: { blank: false, challenge: true } },
    { failOn: { challenge: true } },
    { failOn: { challenge: true } },
  ],
  ['an optional object whose default is empty is left out', { url, failOn: { blank: false } }, { url }, { url }],
  [
    'a required object keeps its required defaults in a request',
    { viewport: { width: 1280, height: 9 } },
    { viewport: { width: 1280, height: 9 } },
    { viewport: { height: 9 } },
  ],
  [
    'an object without a default stays, also if it is empty',
    { url, pdf: { tagged: true } },
    { url, pdf: {} },
    { url, pdf: {} },
  ],
  [
    'a secret stays in a request',
    { url, css: 'a', pdf: { encryption: { userPassword: 'a' } } },
    { url, css: 'a', pdf: { encryption: { userPassword: 'a' } } },
    { url, pdf: {} },
  ],
  [
    'a field that the schema does not have stays in a request',
    { url, isMobile: true },
    { url, isMobile: true },
    { url },
  ],
  ['an undefined field is left out', { url, selector: undefined }, { url }, { url }],
  ['a list stays', { url, hide: [] }, { url, hide: [] }, { url, hide: [] }],
])('%s', (_what, value, inRequest, inDisplay) => {
  expect(omitDefaults(value)).toStrictEqual(inRequest);
  expect(omitDefaults(value, { isForDisplay: true })).toStrictEqual(inDisplay);
});
