import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { type ExtractName, maxExtractedBytes } from '@webcapture/shared/api/formats.ts';
import { extractTimeoutMs } from '@webcapture/shared/captures/times.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { htmlUrl } from '../html-url.ts';
import type { OpenPage } from './open.ts';
import { extractParts } from './scripts/extraction.ts';
import { writeMarkdown } from './scripts/markdown.ts';
import { selecting } from './scripts/selecting.ts';
import { readerOf, walkPage, writeText } from './scripts/walking.ts';

/** What is not read by then is left out. The page stands still meanwhile. */
const maxReadMs = 2000;

/**
 * Takes the parts of a page that were asked for, as it stands.
 *
 * @returns null when the page does not answer, or moves on again and again
 */
export async function extract({ world }: OpenPage, names: readonly ExtractName[]): Promise<Extracted | null> {
  const limits = { maxBytes: maxExtractedBytes, maxMs: maxReadMs, noUrl: htmlUrl };
  const helpers = [...selecting, readerOf, walkPage, writeText, writeMarkdown];
  const limit = { timeoutMs: extractTimeoutMs, what: 'extract' };
  try {
    return await world.callInAny(extractParts, [names, limits], limit, helpers);
  } catch (error) {
    if (error instanceof DeadlineError || error instanceof DocumentGoneError) return null;
    throw error;
  }
}
