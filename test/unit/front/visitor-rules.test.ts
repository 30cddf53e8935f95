import { expect, test } from 'vitest';
import { visitorOf } from '../../../services/front/capture/visitor-rules.ts';

test('locales and time zones are stored in their canonical spelling', () => {
  const canonical = { locale: 'zh-Hant-TW', timezone: 'Europe/Berlin' };
  expect(visitorOf({ locale: 'ZH-hant-tw', timezone: 'europe/berlin' })).toEqual(canonical);
  expect(visitorOf(canonical)).toEqual(canonical);
});

test('absent options stay absent', () => {
  expect(visitorOf({ userAgent: 'x' })).toStrictEqual({ userAgent: 'x' });
  expect(visitorOf({})).toStrictEqual({});
});
