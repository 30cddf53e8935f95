import type { ComponentChildren } from 'preact';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

/** Shows a secret that the service returns only once. */
export function SecretDialog({
  title,
  secret,
  what,
  onClose,
  children,
}: {
  readonly title: string;
  readonly secret: string;
  /** Name of the secret, such as "key". */
  readonly what: string;
  readonly onClose: () => void;
  /** Notes about the secret, and further actions. */
  readonly children?: ComponentChildren;
}) {
  return (
    // Only the button closes the dialog. Escape or an accidental click would lose the secret permanently.
    <Dialog title={title} onClose={() => {}}>
      <p>Copy it now. It is shown only once.</p>
      <p class="secret-value">
        <code>{secret}</code> <CopyButton text={secret} what={what} />
      </p>
      {children}
      <div class="dialog-actions">
        <button type="button" class="button is-primary" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
