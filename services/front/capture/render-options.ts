import { addedOptionNames, type CaptureRequest, type RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { assertRoom, pdfOptions } from './pdf-rules.ts';
import { redactedSecrets } from './secret-rules.ts';
import { visitorOf } from './visitor-rules.ts';

/**
 * Returns the options that affect the pixels. The request must satisfy all rules, and have no optional values that are equal to their
 * default (`omitDefaults`). Throws a VALIDATION_ERROR for a PDF without room.
 */
export function renderOptions(request: CaptureRequest): RenderOptions {
  const pdf = pdfOptions(request.pdf, request.html !== undefined);
  if (request.format === 'pdf') assertRoom(pdf, request.isFullPage ? request.viewport.width : null);
  return {
    format: request.format,
    viewport: request.viewport,
    isFullPage: request.isFullPage,
    quality: request.quality,
    colorScheme: request.colorScheme,
    timeout: request.timeout,
    waitUntil: request.waitUntil,
    imageTimeout: request.imageTimeout,
    delay: request.delay,
    antiBot: request.antiBot,
    block: request.block,
    pdf,
    ...addedOptions(request),
    ...visitorOf(request),
    ...redactedSecrets(request),
  };
}

/** Returns the later additions that are set. Others must be absent, because undefined values would change the cache key. */
function addedOptions(request: CaptureRequest): Pick<CaptureRequest, (typeof addedOptionNames)[number]> {
  const isSet = (name: (typeof addedOptionNames)[number]) =>
    request[name] !== undefined && !(name === 'media' && request.media === defaultMedia(request.format));
  const added = Object.fromEntries(addedOptionNames.filter(isSet).map((name) => [name, request[name]]));
  return {
    ...added,
    // Sorted, because the order of the parts does not matter.
    ...(request.extract === undefined ? {} : { extract: request.extract.toSorted() }),
  };
}

/** The schema cannot state this default, because it depends on the format. */
const defaultMedia = (format: CaptureRequest['format']) => (format === 'pdf' ? 'print' : 'screen');
