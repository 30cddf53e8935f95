import type { ComponentChildren } from 'preact';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

/** A secret that the service shows only once. */
export function SecretDialog({
  title,
  secret,
  what,
  onClose,
  children,
}: {
  readonly title: string;
  readonly secret: string;
  /** Such as "the key". */
  readonly what: string;
  readonly onClose: () => void;
  /** What to know of it, and what more can be done. */
  readonly children?: ComponentChildren;
}) {
  return (
    // Escape or a stray click would lose it for good: only the button closes.
    <Dialog title={title} onClose={() => {}}>
      <p>Copy it now: it is shown only this once.</p>
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
