import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { type ExtractFields, ruleOf } from '@webcapture/shared/api/extract-fields.ts';
import { wantsExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { brokenSelector } from './selectors.ts';

/** Yields the violated rules of format `none`, and of `extractFields`. */
export function* brokenExtractRules(request: CaptureRequest): Generator<string> {
  const { format, responseType, failOn, extractFields } = request;
  if (format === 'none') {
    if (!wantsExtracted(request)) yield 'format none needs extract or extractFields: there is no picture to return';
    if (responseType === 'file')
      yield 'responseType file needs a picture or a PDF: with format none, the JSON response has the data';
    if (failOn?.blank === true) yield 'failOn.blank needs format png, jpeg, webp or pdf, not none';
  }
  yield* brokenFieldRules(extractFields);
}

/** Yields the violated rules of `extractFields` that a schema cannot express. `path`: the path of the object. */
function* brokenFieldRules(wanted: ExtractFields = {}, path = 'extractFields'): Generator<string> {
  for (const [name, field] of Object.entries(wanted)) {
    const at = `${path}.${name}`;
    const { selector, attribute, list, fields } = ruleOf(field);
    if (selector !== undefined) {
      yield* brokenSelector(typeof field === 'string' ? at : `${at}.selector`, selector, false);
    } else if (list === true) yield `${at}.list needs ${at}.selector`;
    if (attribute !== undefined && fields !== undefined) yield `${at}: send either attribute or fields, not both`;
    yield* brokenFieldRules(fields, `${at}.fields`);
  }
}
