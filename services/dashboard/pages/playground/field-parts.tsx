import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { labelOf, type Path, pathKey } from './schema.ts';

/** The error messages by path key, and suggested values for a field. */
export const FormContext = createContext<{
  readonly messages: ReadonlyMap<string, string>;
  readonly suggestions: ReadonlyMap<string, readonly string[]>;
}>({ messages: new Map(), suggestions: new Map() });

export interface FieldProps {
  readonly path: Path;
  readonly schema: JsonSchema;
  /** Undefined if the user has not changed the field; such a field is not sent. */
  readonly value: unknown;
  readonly onChange: (path: Path, value: unknown) => void;
  readonly label?: string;
}

interface FrameProps extends FieldProps {
  /** ID of the control, for its label. */
  readonly id: string;
  readonly help?: string | undefined;
  readonly children: ComponentChildren;
}

export const describedBy = (id: string) => `${id}-help ${id}-error`;

export function useMessage(path: Path): string | undefined {
  return useContext(FormContext).messages.get(pathKey(path));
}

/** Shows label, control, description and error of a field. */
export function Frame({ id, path, schema, label, help, children }: FrameProps) {
  const message = useMessage(path);
  const text = [schema.description, help].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label class="field-name" for={id}>
        {label ?? labelOf(String(path.at(-1)))}
      </label>
      {children}
      <p id={`${id}-error`} class="field-error" role={message === undefined ? undefined : 'alert'}>
        {message}
      </p>
      <p id={`${id}-help`} class="field-help">
        {text}
      </p>
    </div>
  );
}

/** A field set: the fields of an object, or the rows of a list. */
export function FieldSet({
  path,
  schema,
  label,
  children,
}: Pick<FieldProps, 'path' | 'schema' | 'label'> & { readonly children: ComponentChildren }) {
  const message = useMessage(path);
  return (
    <fieldset class="field-set">
      <legend class="field-name">{label ?? labelOf(String(path.at(-1)))}</legend>
      {schema.description !== undefined && <p class="field-help">{schema.description}</p>}
      <p class="field-error" role={message === undefined ? undefined : 'alert'}>
        {message}
      </p>
      {children}
    </fieldset>
  );
}

export const textOf = (value: unknown) =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

/** Returns undefined for an empty field, which is not sent. */
export function valueOf(text: string, isNumber: boolean): unknown {
  if (text === '') return undefined;
  return isNumber && /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text;
}

export function placeholderOf({ default: initial, examples, anyOf }: JsonSchema): string {
  if (initial !== undefined) return textOf(initial);
  const example = examples?.[0] ?? anyOf?.flatMap((each) => each.examples ?? [])[0];
  return example === undefined ? '' : `such as ${textOf(example)}`;
}
