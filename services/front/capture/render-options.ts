import type { CaptureRequest, RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { type PageOptionName, pageOptionNames } from '@webcapture/shared/api/option-table.ts';
import { withoutValues } from '@webcapture/shared/api/steps.ts';
import { assertRoom, pdfOptions } from './pdf-rules.ts';
import { redactedSecrets } from './secret-rules.ts';
import { visitorOf } from './visitor-rules.ts';

/**
 * Returns the options that affect the pixels. The request must satisfy all rules, and must not contain optional values that are equal to
 * their default (`omitDefaults`). Throws a VALIDATION_ERROR if a PDF has no room within its margins.
 */
export function renderOptions(request: CaptureRequest): RenderOptions {
  const pdf = pdfOptions(request.pdf, request.html !== undefined);
  if (request.format === 'pdf') assertRoom(pdf, request.isFullPage ? request.viewport.width : null);
  return {
    ...pageOptions(request),
    pdf,
    ...visitorOf(request),
    ...redactedSecrets(request),
  };
}

/** Returns the options of the page that are set. Others must be absent, because undefined values would change the cache key. */
function pageOptions(request: CaptureRequest): Omit<RenderOptions, 'pdf'> {
  const isSet = (name: PageOptionName) =>
    request[name] !== undefined && !(name === 'media' && request.media === defaultMedia(request.format));
  return {
    ...(Object.fromEntries(pageOptionNames.filter(isSet).map((name) => [name, request[name]])) as CaptureRequest),
    // The time is converted to one notation, so that equal times share a cache entry.
    ...(request.freeze === undefined ? {} : { freeze: { ...request.freeze, time: isoTime(request.freeze.time) } }),
    ...(request.steps === undefined ? {} : { steps: withoutValues(request.steps) }),
    // The parts are sorted, because their order does not matter.
    ...(request.extract === undefined ? {} : { extract: request.extract.toSorted() }),
  };
}

const isoTime = (time: string) => new Date(time).toISOString();

/** The schema cannot state this default, because it depends on the format. */
const defaultMedia = (format: CaptureRequest['format']) => (format === 'pdf' ? 'print' : 'screen');
