import { expect, test } from 'vitest';
import { visitorOf } from '../../../services/front/capture/visitor-rules.ts';

test('spellings of a language or a time zone have one name in the cache', () => {
  const canonical = { locale: 'zh-Hant-TW', timezone: 'Europe/Berlin' };
  expect(visitorOf({ locale: 'ZH-hant-tw', timezone: 'europe/berlin' })).toEqual(canonical);
  expect(visitorOf(canonical)).toEqual(canonical);
});

test('what is absent stays absent', () => {
  expect(visitorOf({ userAgent: 'x' })).toStrictEqual({ userAgent: 'x' });
  expect(visitorOf({})).toStrictEqual({});
});
