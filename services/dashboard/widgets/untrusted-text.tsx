import { useId, useState } from 'preact/hooks';
import { neutralText, truncated } from './neutral-text.ts';

/**
 * Text from an untrusted source, such as the title of a page. It is never markup, its direction is isolated, and a long text has a button
 * that shows the rest.
 */
export function UntrustedText({ text, max = 300 }: { readonly text: string; readonly max?: number }) {
  const [isWhole, setWhole] = useState(false);
  const id = useId();
  const neutral = neutralText(text);
  const beginning = truncated(neutral, max);
  if (beginning === null) {
    return (
      <bdi class="untrusted" dir="auto">
        {neutral}
      </bdi>
    );
  }
  return (
    <>
      <bdi class="untrusted" dir="auto" id={id}>
        {isWhole ? neutral : beginning}
      </bdi>{' '}
      <button
        type="button"
        class="button is-small"
        aria-expanded={isWhole}
        aria-controls={id}
        onClick={() => setWhole(!isWhole)}
      >
        {isWhole ? 'Show less' : 'Show all'}
      </button>
    </>
  );
}

/** Untrusted text on one line of a list, truncated at the end of the line. */
export function UntrustedLine({ text, className = '' }: { readonly text: string; readonly className?: string }) {
  const neutral = neutralText(text);
  return (
    <bdi class={`untrusted one-line ${className}`} dir="auto">
      {truncated(neutral, 200) ?? neutral}
    </bdi>
  );
}
