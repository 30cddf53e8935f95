import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { type ExtractFields, maxListedElements, ruleOf } from '@webcapture/shared/api/extract-fields.ts';
import { type ExtractName, maxExtractedBytes } from '@webcapture/shared/api/formats.ts';
import { extractTimeoutMs } from '@webcapture/shared/api/option-table.ts';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { htmlUrl } from '../html-url.ts';
import { refusedSelector } from './miss.ts';
import type { OpenPage } from './open.ts';
import { extractParts } from './scripts/extraction.ts';
import { type ParsedField, readFields } from './scripts/fields.ts';
import { writeMarkdown } from './scripts/markdown.ts';
import { selecting } from './scripts/selecting.ts';
import { readerOf, walkPage, withoutControls, writeText } from './scripts/walking.ts';

/** Time limit of the extraction, which blocks the page. Content that is not read within it is left out. */
const maxReadMs = 2000;

const limits = { maxBytes: maxExtractedBytes, maxMs: maxReadMs, noUrl: htmlUrl };
const callLimit = { timeoutMs: extractTimeoutMs, what: 'extract' };
const helpers = [...selecting, readerOf, walkPage, withoutControls, writeText];

/**
 * Extracts the requested parts of the page in its current state.
 *
 * @returns null if the page does not respond, or keeps navigating
 * @throws ServiceError CAPTURE_FAILED that names a field whose selector the browser does not support
 */
export async function extract(
  open: OpenPage,
  { extract: names, extractFields: fields }: Pick<RenderOptions, 'extract' | 'extractFields'>,
): Promise<Extracted | null> {
  try {
    const parts = names === undefined ? {} : await readParts(open, names);
    return fields === undefined ? parts : withFields(parts, await readValues(open, fields));
  } catch (error) {
    if (error instanceof DeadlineError || error instanceof DocumentGoneError) return null;
    throw error;
  }
}

function readParts({ world }: OpenPage, names: readonly ExtractName[]): Promise<Extracted> {
  return world.callInAny(extractParts, [names, limits], callLimit, [...helpers, writeMarkdown]);
}

async function readValues({ world }: OpenPage, wanted: ExtractFields) {
  const fieldLimits = { ...limits, maxItems: maxListedElements };
  const read = await world.callInAny(readFields, [parseFields(wanted), fieldLimits], callLimit, helpers);
  if ('refused' in read) throw refusedSelector(`The selector of ${['extractFields', ...read.refused].join('.')}`);
  return read;
}

/** Parses the selectors of `extractFields` at all levels. */
export const parseFields = (wanted: ExtractFields): readonly ParsedField[] =>
  Object.entries(wanted).map(([name, field]) => {
    const { selector, fields, ...rule } = ruleOf(field);
    const part = selector === undefined ? null : (parseSelector(selector)[0] ?? null);
    return { ...rule, name, part, ...(fields === undefined ? {} : { fields: parseFields(fields) }) };
  });

function withFields(parts: Extracted, { fields, isWhole }: Awaited<ReturnType<typeof readValues>>): Extracted {
  const truncated = [...(parts.truncated ?? []), ...(isWhole ? [] : (['fields'] as const))].toSorted();
  return { ...parts, fields, ...(truncated.length === 0 ? {} : { truncated }) };
}
