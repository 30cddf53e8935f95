import { type TSchema, Type } from 'typebox';
import { closed, optionalText, selectorSchema } from './option-schemas.ts';

/** Maximum number of fields of an object, at each level. */
const maxFields = 50;

/** Maximum depth of fields within fields. */
const maxLevels = 3;

/** Maximum number of elements of a list. */
export const maxListedElements = 1000;

/** A field in its long form: what is read from an element that the selector matches. */
export interface FieldRule {
  readonly selector?: string;
  readonly attribute?: string;
  readonly list?: boolean;
  readonly fields?: ExtractFields;
}

/** The option extractFields: a rule for each name. A text is the selector of a rule. */
export interface ExtractFields {
  readonly [name: string]: string | FieldRule;
}

/** The value of a field: null if nothing matches. */
export type FieldValue = string | null | FieldValues | readonly (string | null | FieldValues)[];

export interface FieldValues {
  readonly [name: string]: FieldValue;
}

/** Returns the rule of a field in its long form. */
export const ruleOf = (field: string | FieldRule): FieldRule =>
  typeof field === 'string' ? { selector: field } : field;

const selector = selectorSchema(
  'CSS selector, which matches within the element around the field, also in open shadow roots. Without it: that element, or the root of the document.',
);

const ruleProperties = {
  selector: Type.Optional(selector),
  attribute: optionalText(
    128,
    'Name of the attribute to return instead of the text. href and src are returned as absolute URLs. Excludes fields.',
  ),
  list: Type.Optional(
    Type.Boolean({
      description: `Return a list with a value for each element that matches, up to ${maxListedElements}. Without it: the value of the first one.`,
    }),
  ),
};

const ruleDescription = 'What to read.';

function fieldsSchema(description: string, level = 1): TSchema {
  const deeper =
    level < maxLevels ? { fields: Type.Optional(fieldsSchema('Fields to read within each element.', level + 1)) } : {};
  return {
    type: 'object',
    minProperties: 1,
    maxProperties: maxFields,
    propertyNames: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$' },
    additionalProperties: Type.Union([selector, closed({ ...ruleProperties, ...deeper }, ruleDescription)]),
    description,
  } as TSchema;
}

export const extractFieldsSchema = Type.Unsafe<ExtractFields>({
  ...fieldsSchema(
    `Fields to return as data.extracted.fields, by name: a CSS selector, whose first match gives the text, or {selector, attribute, list, fields}. Up to ${maxFields} fields, ${maxLevels} levels and 1 MiB in all. A field that matches nothing is null, or an empty list.`,
  ),
  examples: [{ title: 'h1', prices: { selector: '.price', list: true } }],
});

const single: readonly TSchema[] = [Type.String(), Type.Null()];

function valuesSchema(description?: string, level = 1): TSchema {
  const one = Type.Union([...single, ...(level < maxLevels ? [valuesSchema(undefined, level + 1)] : [])]);
  const value = Type.Union([...one.anyOf, Type.Array(one, { maxItems: maxListedElements })]);
  return Type.Record(Type.String(), value, description === undefined ? {} : { description });
}

/** `data.extracted.fields` of a capture. */
export const fieldValuesSchema = Type.Unsafe<FieldValues>(
  valuesSchema(
    'The fields of `extractFields`: texts, lists of texts, or objects with fields; null if nothing matches.',
  ),
);
