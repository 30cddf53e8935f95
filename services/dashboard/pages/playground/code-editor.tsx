import { useRef } from 'preact/hooks';

/**
 * A text area with line numbers. Tab indents, and Escape makes the next Tab leave the editor, so that keyboard users are not
 * trapped.
 */
export function CodeEditor({
  id,
  value,
  rows,
  placeholder,
  isInvalid,
  describedBy,
  onChange,
}: {
  readonly id: string;
  readonly value: string;
  readonly rows: number;
  readonly placeholder?: string;
  readonly isInvalid: boolean;
  readonly describedBy: string;
  readonly onChange: (value: string) => void;
}) {
  const numbers = useRef<HTMLPreElement>(null);
  const isLeaving = useRef(false);
  const lines = value.split('\n').length;
  return (
    <div class="code-editor">
      <pre ref={numbers} aria-hidden="true">
        {Array.from({ length: Math.max(lines, rows) }, (_, index) => (index < lines ? index + 1 : '')).join('\n')}
      </pre>
      <textarea
        id={id}
        rows={rows}
        wrap="off"
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        placeholder={placeholder}
        value={value}
        aria-invalid={isInvalid}
        aria-describedby={describedBy}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
        onBlur={() => (isLeaving.current = false)}
        onScroll={({ currentTarget }) => {
          if (numbers.current !== null) numbers.current.scrollTop = currentTarget.scrollTop;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') isLeaving.current = true;
          if (event.key !== 'Tab' || event.shiftKey || isLeaving.current) return;
          event.preventDefault();
          const area = event.currentTarget;
          area.setRangeText('  ', area.selectionStart, area.selectionEnd, 'end');
          onChange(area.value);
        }}
      />
    </div>
  );
}
