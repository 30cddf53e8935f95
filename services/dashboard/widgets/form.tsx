import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import { errorInWords, isForbidden, isInvalid, isTemporary, messagesByField } from '../shell/errors.ts';
import { ErrorState } from './states.tsx';

/** Error messages by the name of the field. */
const FieldMessages = createContext<ReadonlyMap<string, string>>(new Map());

/** A form that shows errors of its action at the fields that they name, and other errors above the fields. */
export function Form({
  class: className,
  mainField,
  onSubmit,
  children,
}: {
  readonly class: string;
  /** Name of the field to which errors without a field belong, such as an address that the service refuses. */
  readonly mainField?: string | undefined;
  readonly onSubmit: (data: FormData) => Promise<void>;
  readonly children: (isBusy: boolean) => ComponentChildren;
}) {
  const form = useRef<HTMLFormElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [messages, setMessages] = useState<ReadonlyMap<string, string>>(new Map());
  const [refusals, setRefusals] = useState(0);
  const submit = async (element: HTMLFormElement) => {
    setBusy(true);
    setError(undefined);
    setMessages(new Map());
    try {
      await onSubmit(new FormData(element));
    } catch (thrown) {
      const found = messagesOf(thrown, element, mainField);
      setMessages(found);
      setRefusals((before) => before + 1);
      if (found.size === 0) setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    const [name] = messages.keys();
    if (name !== undefined) fieldOf(form.current, name)?.focus();
  }, [refusals]);
  const forget = (name: string | null) => {
    if (name !== null && messages.has(name)) setMessages(new Map([...messages].filter(([each]) => each !== name)));
  };
  return (
    <form
      ref={form}
      class={className}
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
      onInput={({ target }) => target instanceof Element && forget(target.getAttribute('name'))}
    >
      {error !== undefined && <ErrorState error={error} />}
      <FieldMessages.Provider value={messages}>{children(isBusy)}</FieldMessages.Provider>
    </form>
  );
}

const fieldOf = (form: HTMLFormElement | null, name: string) =>
  form?.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`);

/** Returns the messages of an error by field. Returns none if one of them belongs to no field of the form. */
function messagesOf(error: unknown, form: HTMLFormElement, mainField: string | undefined): ReadonlyMap<string, string> {
  const { message } = errorInWords(error);
  if (isInvalid(error)) {
    const found = messagesByField(message, (name) => fieldOf(form, name) !== null);
    // A field that is a list shows the messages of its items.
    if (!found.has('')) return new Map([...found].map(([key, text]) => [key.split('.')[0] ?? key, text]));
  }
  const isOfField = mainField !== undefined && !isTemporary(error) && !isForbidden(error);
  return isOfField ? new Map([[mainField, message]]) : new Map();
}

/** The error message of a field, in its label or field set. */
export function FieldError({ name, id }: { readonly name: string; readonly id?: string }) {
  const message = useContext(FieldMessages).get(name);
  return (
    <p id={id} class="field-error" role={message === undefined ? undefined : 'alert'}>
      {message}
    </p>
  );
}

interface InputFieldProps {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly type?: 'text' | 'number' | 'url' | 'date';
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly min?: number | string;
  readonly max?: number;
  readonly placeholder?: string;
  readonly defaultValue?: string;
  readonly autofocus?: boolean;
}

/** A labeled input of a {@link Form}. */
export function InputField({ name, label, help, ...others }: InputFieldProps) {
  // Preact has a separate type for each type of input, which does not match a choice of several.
  const attributes: object = others;
  const id = useId();
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      <input
        {...attributes}
        id={id}
        class="input"
        name={name}
        aria-invalid={useContext(FieldMessages).has(name)}
        aria-describedby={`${id}-error ${id}-help`}
      />
      <FieldError name={name} id={`${id}-error`} />
      {help !== undefined && (
        <span id={`${id}-help`} class="field-help">
          {help}
        </span>
      )}
    </div>
  );
}
