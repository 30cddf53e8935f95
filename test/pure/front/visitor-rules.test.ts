import { expect, test } from 'vitest';
import { canonicalVisitor } from '../../../services/front/capture/visitor-rules.ts';

test('spellings of a language or a time zone have one name in the cache', () => {
  const canonical = { locale: 'zh-Hant-TW', timezone: 'Europe/Berlin' };
  expect(canonicalVisitor({ locale: 'ZH-hant-tw', timezone: 'europe/berlin' })).toEqual(canonical);
  expect(canonicalVisitor(canonical)).toEqual(canonical);
});

test('what is absent stays absent', () => {
  expect(canonicalVisitor({ userAgent: 'x' })).toStrictEqual({});
});
