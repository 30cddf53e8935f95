import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/** A modal dialog: the browser keeps the focus inside, closes the dialog on Escape, and then restores the focus. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  /** Also called on Escape and by a click outside of the dialog. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // The browser fires cancel only once, and closes the dialog at the second Escape. If the dialog must stay open, it is opened again.
      onClose={({ currentTarget }) => {
        if (currentTarget.isConnected) currentTarget.showModal();
      }}
      onClick={({ target }) => {
        if (target === element.current) onClose();
      }}
    >
      <div class="dialog-body">
        <h2 id={titleId}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface Question {
  readonly title: string;
  readonly body: ComponentChildren;
  /** The action of the button, as a verb: Delete, Revoke. */
  readonly action: string;
  readonly isDangerous?: boolean;
}

const asked = signal<(Question & { readonly answer: (isSure: boolean) => void }) | undefined>(undefined);

/** Asks for confirmation of an action that cannot be undone; returns false if the user cancels. */
export function confirm(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (isSure) => {
        asked.value = undefined;
        resolve(isSure);
      },
    };
  });
}

/** Shows the current question. It is rendered once, in the shell. */
export function DialogHost() {
  const question = asked.value;
  if (question === undefined) return null;
  const { title, body, action, isDangerous = false, answer } = question;
  return (
    <Dialog title={title} onClose={() => answer(false)}>
      <div>{body}</div>
      <div class="dialog-actions">
        <button type="button" class="button" autofocus onClick={() => answer(false)}>
          Cancel
        </button>
        <button
          type="button"
          class={isDangerous ? 'button is-danger' : 'button is-primary'}
          onClick={() => answer(true)}
        >
          {action}
        </button>
      </div>
    </Dialog>
  );
}
