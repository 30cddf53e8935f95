import { type ExtractFields, ruleOf } from '@webcapture/shared/api/extract-fields.ts';
import { brokenSelector } from './selectors.ts';

/** Yields the violated rules of `extractFields` that a schema cannot express. `path`: the path of the object. */
export function* brokenFieldRules(wanted: ExtractFields = {}, path = 'extractFields'): Generator<string> {
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
