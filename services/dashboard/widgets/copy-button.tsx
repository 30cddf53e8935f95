import { useState } from 'preact/hooks';
import { toast } from './toast.tsx';

/** Copies a text; `what` names it for screen readers, such as "the key". */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
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
    <button type="button" class="button is-small" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <span aria-live="polite">{isCopied ? 'Copied' : 'Copy'}</span>
    </button>
  );
}
