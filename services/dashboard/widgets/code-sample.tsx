import { CopyButton } from './copy-button.tsx';

/** Code with a button that copies it. */
export function CodeSample({
  code,
  what = 'code',
  isWrapped = false,
}: {
  readonly code: string;
  /** Names the code on the button. */
  readonly what?: string;
  /** Whether long lines continue on the next line. Otherwise they scroll. */
  readonly isWrapped?: boolean;
}) {
  return (
    <div class="sample">
      <CopyButton text={code} what={what} />
      {/* Long lines scroll, so the element must be focusable for the keyboard. */}
      <pre class={isWrapped ? 'untrusted is-wrapped' : 'untrusted'} tabIndex={0}>
        {code}
      </pre>
    </div>
  );
}
