import { expect, test } from 'vitest';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { suggestField } from '../../../services/front/validation/explain-errors.ts';

const root = captureRequestSchema as unknown as JsonSchema;

test.each<[string[], string, string | null]>([
  [[], 'Format', 'format'],
  [[], 'colour_scheme', 'colorScheme'],
  [[], 'color-scheme', 'colorScheme'],
  [[], 'fullPage', 'isFullPage'],
  [[], 'qualtiy', 'quality'],
  [[], 'ur', 'url'],
  [[], 'uri', 'url'],
  [[], 'anti_bot', 'antiBot'],
  [[], 'waitUntilEvent', 'waitUntil'],
  [[], 'width', 'viewport.width'],
  [[], 'ttl', 'responseCache.ttl'],
  [[], 'cookieBanners', 'block.cookieBanners'],
  [[], 'margin', 'pdf.margin'],
  [['viewport'], 'hieght', 'viewport.height'],
  [['viewport'], 'quality', 'quality'],
  [['pdf', 'margin'], 'Top', 'pdf.margin.top'],
  [['pdf'], 'format', 'pdf.paper'],
  [['responseCache'], 'enable', 'responseCache.enabled'],
  [[], 'q', null],
  [[], 'x', 'clip.x'],
  [[], 'somethingElse', null],
  [[], '', null],
  [[], '__proto__', null],
  [[], 'a'.repeat(10_000), null],
])('the suggestion in %j for the unknown field %s', (parent, unknown, suggestion) => {
  expect(suggestField(root, parent, unknown)).toBe(suggestion);
});
