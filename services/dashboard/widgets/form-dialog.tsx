import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';

/** A dialog with a form. If its action fails, it stays open and shows the error. */
export function FormDialog({
  title,
  action,
  isDangerous = false,
  mainField,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  /** The action of the button, as a verb. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** As in {@link Form}. */
  readonly mainField?: string;
  readonly onSubmit: (data: FormData) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form class="form" mainField={mainField} onSubmit={onSubmit}>
        {(isBusy) => (
          <>
            {children}
            <div class="dialog-actions">
              <button type="button" class="button" onClick={onClose}>
                Cancel
              </button>
              <button type="submit" class={isDangerous ? 'button is-danger' : 'button is-primary'} disabled={isBusy}>
                {action}
              </button>
            </div>
          </>
        )}
      </Form>
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

/** A field for the time in which a replaced secret stays valid. Its name in the data of the form is `graceSeconds`. */
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
