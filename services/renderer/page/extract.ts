import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { type ExtractName, maxExtractedBytes } from '@webcapture/shared/api/formats.ts';
import { extractTimeoutMs } from '@webcapture/shared/api/option-table.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { htmlUrl } from '../html-url.ts';
import type { OpenPage } from './open.ts';
import { extractParts } from './scripts/extraction.ts';
import { writeMarkdown } from './scripts/markdown.ts';
import { selecting } from './scripts/selecting.ts';
import { readerOf, walkPage, writeText } from './scripts/walking.ts';

/** Time limit of the extraction, which blocks the page. Content that is not read within it is left out. */
const maxReadMs = 2000;

/**
 * Extracts the requested parts of the page in its current state.
 *
 * @returns null if the page does not respond, or keeps navigating
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
