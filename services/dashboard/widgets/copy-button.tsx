import { useState } from 'preact/hooks';
import { toast } from './toast.tsx';

/** Copies a text. `what` names the text on the button, such as "key". */
export function CopyButton({
  text,
  what,
  size = 'small',
}: {
  readonly text: string;
  readonly what: string;
  readonly size?: 'small' | 'normal';
}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 2000);
    } catch {
      // Without https, the browser has no clipboard.
      toast('The browser does not allow copying here. Select the text and copy it.', 'error');
    }
  };
  return (
    <button type="button" class={size === 'small' ? 'button is-small' : 'button'} onClick={() => void copy()}>
      <span aria-live="polite">{isCopied ? 'Copied' : `Copy ${what}`}</span>
    </button>
  );
}
