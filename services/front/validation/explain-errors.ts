import { describeSchema, describeValue, type JsonSchema } from './describe-schema.ts';
import { suggestField } from './suggest-field.ts';

/** The fields of an ajv error (with `verbose`) that an explanation needs. */
interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly parentSchema?: JsonSchema;
  readonly data?: unknown;
}

/** More would not help anybody. */
const maxMessages = 5;

/**
 * One sentence for each field that is wrong: its name, the rule, and what was sent when that is short.
 *
 * @param errors as ajv tells them, with `verbose`
 * @param root the JSON schema that was broken
 */
export function explainErrors(errors: readonly object[], root: object): string {
  const messages = [
    ...new Set(relevant(errors as readonly SchemaError[]).map((error) => explain(error, root as JsonSchema))),
  ];
  const shown = messages.slice(0, maxMessages).join('; ');
  return messages.length > maxMessages ? `${shown}; and ${messages.length - maxMessages} more` : shown;
}

function explain(error: SchemaError, root: JsonSchema): string {
  const path = pathOf(error.instancePath);
  switch (error.keyword) {
    case 'additionalProperties': {
      const unknown = String(error.params['additionalProperty']);
      const suggestion = suggestField(root, path, unknown);
      const meant = suggestion === null ? '' : `; did you mean ${suggestion}?`;
      return `${[...path, shorten(unknown)].join('.')} is not a field of the request${meant}`;
    }
    case 'required':
      return `${[...path, String(error.params['missingProperty'])].join('.')} is required`;
    default: {
      const rule = describeSchema(error.parentSchema ?? {});
      if (path.length === 0) return `the body must be a JSON object, not ${describeValue(error.data)}`;
      return `${path.join('.')} must be ${rule}, not ${describeValue(error.data)}`;
    }
  }
}

/**
 * Of several errors about one value the one that tells the whole rule. Where alternatives failed (`anyOf`) that is the
 * error of the anyOf, unless one alternative fitted and something inside of it is wrong: then that.
 */
function relevant(errors: readonly SchemaError[]): SchemaError[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  const isInside = (union: SchemaError) => (error: SchemaError) =>
    error.instancePath.startsWith(`${union.instancePath}/`) ||
    (error.instancePath === union.instancePath && isAboutFields(error));
  const dropped = new Set<SchemaError>();
  for (const union of unions) {
    const inside = errors.some(isInside(union));
    if (inside) dropped.add(union);
    for (const error of errors) {
      if (error.instancePath === union.instancePath && error !== union && !isAboutFields(error)) dropped.add(error);
    }
  }
  const seen = new Set<string>();
  return errors.filter((error) => {
    if (dropped.has(error)) return false;
    if (isAboutFields(error)) return true;
    const first = !seen.has(error.instancePath);
    seen.add(error.instancePath);
    return first;
  });
}

const isAboutFields = ({ keyword }: SchemaError) => keyword === 'additionalProperties' || keyword === 'required';

/** The steps of a JSON pointer. */
function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A field's name, made harmless for a message: some are thousands of letters long. */
function shorten(name: string): string {
  const short = name.length <= 60 ? name : `${name.slice(0, 57)}…`;
  return /^[\w$.-]+$/.test(short) ? short : JSON.stringify(short);
}
