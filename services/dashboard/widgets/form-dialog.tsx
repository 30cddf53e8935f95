import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { ErrorState } from './states.tsx';

/** A dialog with a form. If its action fails, it stays open and shows the error. */
export function FormDialog({
  title,
  action,
  isDangerous = false,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  /** The action of the button, as a verb. */
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly onSubmit: (data: FormData) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const submit = async (form: HTMLFormElement) => {
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit(new FormData(form));
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        {error !== undefined && <ErrorState error={error} />}
        {children}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'button is-danger' : 'button is-primary'} disabled={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

const graceChoices: readonly Choice[] = [
  { value: '0', title: 'Stops working immediately' },
  { value: '3600', title: 'Works for another hour' },
  { value: '86400', title: 'Works for another day' },
  { value: '604800', title: 'Works for another week' },
];

/** How long a replaced secret keeps working; `graceSeconds` in the data of the form. */
export function GraceField({ label, initial }: { readonly label: string; readonly initial: '3600' | '86400' }) {
  return (
    <label class="field">
      <span class="field-label">{label}</span>
      <select class="input" name="graceSeconds">
        {graceChoices.map(({ value, title }) => (
          <option key={value} value={value} selected={value === initial}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

export const graceSecondsOf = (data: FormData) => Number(data.get('graceSeconds'));

/** Returns the value of a field without surrounding spaces. */
export function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
