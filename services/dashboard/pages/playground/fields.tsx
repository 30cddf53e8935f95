import { useContext, useEffect, useId, useState } from 'preact/hooks';
import { describeSchema, variantsOf } from '@webcapture/shared/api/describe-schema.ts';
import { CodeEditor } from './code-editor.tsx';
import {
  describedBy,
  type FieldProps,
  FieldSet,
  FormContext,
  Frame,
  placeholderOf,
  textOf,
  useMessage,
  valueOf,
} from './field-parts.tsx';
import { ListField, RecordField } from './lists.tsx';
import { labelOf, pathKey } from './schema.ts';

/** Minimum value of `maxLength` from which a text is edited in the code editor. */
const codeLength = 65_536;

/** Renders the field for an option of any schema. */
export function Field(props: FieldProps) {
  const { schema } = props;
  if (schema.enum !== undefined) return <ChoiceField {...props} />;
  if (schema.anyOf?.some(({ type }) => type === 'object')) return <SidesField {...props} />;
  switch (schema.type) {
    case 'object':
      if (schema.properties === undefined) return <RecordField {...props} />;
      return schema.maxProperties === 1 ? <OneOfField {...props} /> : <ObjectField {...props} />;
    case 'array':
      return schema.items?.enum === undefined ? (
        <ListField {...props} renderObject={(item) => <Field {...item} />} />
      ) : (
        <SetField {...props} />
      );
    case 'boolean':
      return <BooleanField {...props} />;
    case 'string':
      return (schema.maxLength ?? 0) >= codeLength ? <CodeField {...props} /> : <TextField {...props} />;
    default:
      return <TextField {...props} />;
  }
}

/** Accepts text, or a number if the schema allows one. `42` becomes a number; any other text is sent as text and reported as an error. */
function TextField(props: FieldProps) {
  const { path, schema, value, onChange } = props;
  const id = useId();
  const { suggestions } = useContext(FormContext);
  const listed = suggestions.get(pathKey(path));
  const kinds = variantsOf(schema).map(({ type }) => type);
  const isNumber = kinds.includes('number') || kinds.includes('integer');
  // An incomplete number such as "1." is kept as text.
  const [typed, setTyped] = useState(textOf(value));
  useEffect(() => {
    if (valueOf(typed, isNumber) !== value) setTyped(textOf(value));
  }, [value]);
  const kind =
    listed !== undefined
      ? { type: 'text' as const, list: `${id}-list` }
      : path.at(-1) === 'password'
        ? { type: 'password' as const }
        : { type: 'text' as const };
  return (
    <Frame
      {...props}
      id={id}
      help={isNumber && schema.description !== undefined ? `${capital(describeSchema(schema))}.` : undefined}
    >
      <input
        id={id}
        class="input"
        {...kind}
        inputMode={isNumber && kinds.length === 1 ? 'decimal' : 'text'}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholderOf(schema)}
        value={typed}
        aria-invalid={useMessage(path) !== undefined}
        aria-describedby={describedBy(id)}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          onChange(path, valueOf(currentTarget.value, isNumber));
        }}
      />
      {listed !== undefined && (
        <datalist id={`${id}-list`}>
          {listed.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </Frame>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function CodeField(props: FieldProps) {
  const { path, value, onChange } = props;
  const id = useId();
  return (
    <Frame {...props} id={id}>
      <CodeEditor
        id={id}
        rows={5}
        value={textOf(value)}
        isInvalid={useMessage(path) !== undefined}
        describedBy={describedBy(id)}
        onChange={(text) => onChange(path, valueOf(text, false))}
      />
    </Frame>
  );
}

function ChoiceField(props: FieldProps) {
  const { path, schema, value, onChange } = props;
  const id = useId();
  return (
    <Frame {...props} id={id}>
      <select
        id={id}
        class="input"
        value={textOf(value)}
        aria-invalid={useMessage(path) !== undefined}
        aria-describedby={describedBy(id)}
        onChange={({ currentTarget }) => onChange(path, valueOf(currentTarget.value, false))}
      >
        <option value="">{schema.default === undefined ? 'not set' : `${textOf(schema.default)} (default)`}</option>
        {schema.enum
          ?.filter((each) => each !== schema.default)
          .map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
      </select>
    </Frame>
  );
}

/** Shows a checkbox if the default is known. If omitting the option differs from both true and false, shows a choice of three. */
function BooleanField(props: FieldProps) {
  const { path, schema, value, onChange, label } = props;
  const id = useId();
  const message = useMessage(path);
  if (schema.default === undefined) {
    return (
      <Frame {...props} id={id}>
        <select
          id={id}
          class="input"
          value={textOf(value)}
          aria-describedby={describedBy(id)}
          onChange={({ currentTarget }) =>
            onChange(path, currentTarget.value === '' ? undefined : currentTarget.value === 'true')
          }
        >
          <option value="">not set</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      </Frame>
    );
  }
  const isOn = (value ?? schema.default) === true;
  return (
    <div class="field is-box">
      <label class="field-name">
        <input
          type="checkbox"
          checked={isOn}
          aria-describedby={describedBy(id)}
          onChange={({ currentTarget: { checked } }) =>
            onChange(path, checked === schema.default ? undefined : checked)
          }
        />
        {label ?? labelOf(String(path.at(-1)))}
      </label>
      <p id={`${id}-error`} class="field-error" role={message === undefined ? undefined : 'alert'}>
        {message}
      </p>
      <p id={`${id}-help`} class="field-help">
        {schema.description}
      </p>
    </div>
  );
}

function ObjectField(props: FieldProps) {
  const { path, schema, value, onChange } = props;
  const fields = Object.entries(schema.properties ?? {});
  const isNarrow = fields.every(([, { type }]) => type === 'integer' || type === 'number');
  return (
    <FieldSet {...props}>
      <div class={isNarrow ? 'field-row' : undefined}>
        {fields.map(([name, child]) => (
          <Field
            key={name}
            path={[...path, name]}
            schema={child}
            value={(value as Record<string, unknown> | undefined)?.[name]}
            onChange={onChange}
          />
        ))}
      </div>
    </FieldSet>
  );
}

/** Shows an object with one of several fields, such as a step, as a choice of the field and the field itself. */
function OneOfField(props: FieldProps) {
  const { path, schema, value, onChange, label } = props;
  const fields = schema.properties ?? {};
  const given = Object.keys((value ?? {}) as object)[0];
  const [chosen, setChosen] = useState(given ?? '');
  useEffect(() => {
    if (given !== undefined) setChosen(given);
  }, [given]);
  const child = fields[chosen];
  return (
    <FieldSet {...props}>
      <select
        class="input"
        value={chosen}
        aria-label={`${label ?? labelOf(String(path.at(-1)))}: action`}
        onChange={({ currentTarget }) => {
          if (given !== undefined) onChange([...path, given], undefined);
          setChosen(currentTarget.value);
        }}
      >
        <option value="">not set</option>
        {Object.keys(fields).map((name) => (
          <option key={name} value={name}>
            {labelOf(name)}
          </option>
        ))}
      </select>
      {child !== undefined && (
        <Field
          key={chosen}
          path={[...path, chosen]}
          schema={child}
          value={(value as Record<string, unknown> | undefined)?.[chosen]}
          onChange={onChange}
        />
      )}
    </FieldSet>
  );
}

/** Shows a list of fixed values as a set of checkboxes. */
function SetField(props: FieldProps) {
  const { path, schema, value, onChange } = props;
  const chosen = Array.isArray(value) ? (value as string[]) : [];
  const toggle = (word: string) => {
    const next = chosen.includes(word) ? chosen.filter((each) => each !== word) : [...chosen, word];
    onChange(path, next.length === 0 ? undefined : next);
  };
  return (
    <FieldSet {...props}>
      <div class="field-words">
        {schema.items?.enum?.map((word) => (
          <label key={word}>
            <input type="checkbox" checked={chosen.includes(word)} onChange={() => toggle(word)} />
            {word}
          </label>
        ))}
      </div>
    </FieldSet>
  );
}

/** Shows one value for all sides, or an object of values, such as the margins of paper. */
function SidesField(props: FieldProps) {
  const { schema, value, path, onChange, label } = props;
  const isObject = typeof value === 'object' && value !== null;
  const [isEach, setEach] = useState(isObject);
  useEffect(() => {
    if (value !== undefined) setEach(isObject);
  }, [isObject, value === undefined]);
  const sides = schema.anyOf?.find(({ type }) => type === 'object') ?? {};
  const { description, ...rest } = schema;
  const simple = { ...rest, anyOf: schema.anyOf?.filter(({ type }) => type !== 'object') ?? [] };
  const name = label ?? labelOf(String(path.at(-1)));
  return (
    <>
      {isEach ? (
        <ObjectField {...props} schema={{ ...sides, ...(description && { description }) }} />
      ) : (
        <TextField {...props} schema={{ ...simple, ...(description && { description }) }} />
      )}
      <label class="field-switch">
        <input
          type="checkbox"
          checked={isEach}
          onChange={({ currentTarget }) => {
            setEach(currentTarget.checked);
            onChange(path, undefined);
          }}
        />
        {name}: set {Object.keys(sides.properties ?? {}).join(', ')} apart
      </label>
    </>
  );
}
