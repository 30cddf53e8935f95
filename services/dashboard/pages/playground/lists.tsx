import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { type JsonSchema, variantsOf } from '@webcapture/shared/api/describe-schema.ts';
import { type FieldProps, FieldSet, placeholderOf, textOf, useMessage, valueOf } from './field-parts.tsx';
import { type Body, labelOf, parseObject, type Path, withValue } from './schema.ts';

/** A list of texts, numbers or objects, with a row for each. */
export function ListField(props: FieldProps & { readonly renderObject: (item: FieldProps) => ComponentChildren }) {
  const { renderObject, path, schema, value, onChange } = props;
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const item = schema.items ?? {};
  const name = labelOf(String(path.at(-1)));
  const change = (next: readonly unknown[]) => onChange(path, next.length === 0 ? undefined : next);
  return (
    <FieldSet {...props}>
      {items.map((each, index) => (
        <div class="list-row" key={index}>
          {item.type === 'object' ? (
            renderObject({
              path: [...path, index],
              schema: item,
              label: `${name} ${index + 1}`,
              value: each,
              onChange: (inside, next) =>
                change(items.with(index, withValue((each ?? {}) as Body, inside.slice(path.length + 1), next))),
            })
          ) : (
            <ItemRow
              path={[...path, index]}
              schema={item}
              label={`${name} ${index + 1}`}
              value={each}
              onChange={(next) => change(items.with(index, next ?? ''))}
            />
          )}
          <RemoveButton name={`${name} ${index + 1}`} onClick={() => change(items.toSpliced(index, 1))} />
        </div>
      ))}
      <AddButton
        name={name}
        disabled={items.length >= (schema.maxItems ?? Infinity)}
        onClick={() => change([...items, item.type === 'object' ? {} : ''])}
      />
    </FieldSet>
  );
}

function RemoveButton({ name, onClick }: { readonly name: string; readonly onClick: () => void }) {
  return (
    <button type="button" class="icon-button" aria-label={`Remove ${name}`} onClick={onClick}>
      ×
    </button>
  );
}

interface AddButtonProps {
  readonly name: string;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

function AddButton({ name, disabled = false, onClick }: AddButtonProps) {
  return (
    <button type="button" class="button is-small" aria-label={`Add to ${name}`} disabled={disabled} onClick={onClick}>
      Add
    </button>
  );
}

interface ItemRowProps {
  readonly path: Path;
  readonly schema: JsonSchema;
  readonly label: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function ItemRow({ path, schema, label, value, onChange }: ItemRowProps) {
  const id = useId();
  const message = useMessage(path);
  const isNumber = variantsOf(schema).some(({ type }) => type === 'integer' || type === 'number');
  return (
    <div class="list-item">
      <input
        class="input"
        type="text"
        autocomplete="off"
        spellcheck={false}
        aria-label={label}
        aria-invalid={message !== undefined}
        aria-describedby={id}
        placeholder={placeholderOf(schema)}
        value={textOf(value)}
        onInput={({ currentTarget }) => onChange(valueOf(currentTarget.value, isNumber))}
      />
      <p id={id} class="field-error">
        {message}
      </p>
    </div>
  );
}

type Row = readonly [name: string, text: string];

/** Shows names with values, such as headers. A row with an empty or duplicate name is not sent. */
export function RecordField(props: FieldProps) {
  const { path, schema, value, onChange } = props;
  const sent = (value ?? {}) as Readonly<Record<string, unknown>>;
  const sentRows = () => Object.entries(sent).map(([field, each]): Row => [field, textOf(each)]);
  const [rows, setRows] = useState<readonly Row[]>(sentRows);
  // An example may have replaced the whole form.
  const isSame = JSON.stringify(recordOf(rows, schema) ?? {}) === JSON.stringify(sent);
  const shown = isSame ? rows : sentRows();
  const name = labelOf(String(path.at(-1)));
  const change = (next: readonly Row[]) => {
    setRows(next);
    onChange(path, recordOf(next, schema));
  };
  return (
    <FieldSet {...props}>
      {shown.map(([field, text], index) => (
        <div class="list-row" key={index}>
          <input
            class="input"
            type="text"
            autocomplete="off"
            spellcheck={false}
            aria-label={`${name} ${index + 1}: name`}
            placeholder="Name"
            value={field}
            onInput={({ currentTarget }) => change(shown.with(index, [currentTarget.value, text]))}
          />
          <input
            class="input"
            type="text"
            autocomplete="off"
            spellcheck={false}
            aria-label={`${name} ${index + 1}: value`}
            placeholder="Value"
            value={text}
            onInput={({ currentTarget }) => change(shown.with(index, [field, currentTarget.value]))}
          />
          <RemoveButton name={`${name} ${index + 1}`} onClick={() => change(shown.toSpliced(index, 1))} />
        </div>
      ))}
      <AddButton name={name} onClick={() => change([...shown, ['', '']])} />
    </FieldSet>
  );
}

function recordOf(rows: readonly Row[], { additionalProperties }: JsonSchema): Record<string, unknown> | undefined {
  const named = rows.filter(([name]) => name !== '');
  if (named.length === 0) return undefined;
  const mayBeObject =
    typeof additionalProperties === 'object' && variantsOf(additionalProperties).some(({ type }) => type === 'object');
  return Object.fromEntries(named.map(([name, text]) => [name, mayBeObject ? objectOr(text) : text]));
}

/** Returns the object that a text contains as JSON, or the text. */
const objectOr = (text: string) => (text.startsWith('{') ? parseObject(text) : undefined) ?? text;
