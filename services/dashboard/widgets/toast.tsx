import { signal } from '@preact/signals';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'info' | 'error';
}

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

const shownMs = 6000;

/** Shows a message for a few seconds and announces it to screen readers. An error stays until the user dismisses it. */
export function toast(text: string, kind: Toast['kind'] = 'info'): void {
  const id = ++lastId;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind }];
  if (kind === 'info') setTimeout(() => dismiss(id), shownMs);
}

/** Called when the user leaves the page that the messages concern. */
export function dismissAll(): void {
  toasts.value = [];
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

/** Shows the messages. It is rendered once, in the shell, because a live region must exist before its first message. */
export function ToastHost() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, kind }) => (
        <div key={id} class={kind === 'error' ? 'toast is-danger' : 'toast'}>
          <span>{text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
