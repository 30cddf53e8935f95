import { UntrustedText } from './untrusted-text.tsx';

export interface Finding {
  readonly tone: 'good' | 'warning' | 'bad' | 'plain';
  readonly text: string;
  /** Untrusted text of the captured page. */
  readonly quote?: string;
}

const marks: Readonly<Record<Finding['tone'], string>> = { good: '✓', warning: '!', bad: '✕', plain: '·' };

/** The findings of a report, in sentences. */
export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <ul class="findings">
      {findings.map(({ tone, text, quote }) => (
        <li key={text} class={`finding is-${tone}`}>
          <span class="finding-mark" aria-hidden="true">
            {marks[tone]}
          </span>
          <span>
            {tone === 'warning' && <span class="visually-hidden">Warning: </span>}
            {tone === 'bad' && <span class="visually-hidden">Problem: </span>}
            {text} {quote !== undefined && <UntrustedText text={quote} />}
          </span>
        </li>
      ))}
    </ul>
  );
}
