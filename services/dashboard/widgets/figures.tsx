import type { ComponentChildren } from 'preact';

/** A figure with its name, such as “Tokens used 1,234 of 10,000”. Put several into a `<dl class="tiles">`. */
export function StatTile({
  label,
  value,
  detail,
}: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly detail?: ComponentChildren;
}) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd>
        <span class="tile-value">{value}</span>
        {detail !== undefined && <span class="tile-detail">{detail}</span>}
      </dd>
    </div>
  );
}

export interface BarPart {
  readonly label: string;
  readonly value: number;
  /** The value as text, with its unit. */
  readonly text: string;
}

/**
 * A bar of parts with a legend. `max` is the value of the whole bar; by default, it is the sum of the parts. The legend contains all values
 * of the bar, so that a reader does not depend on colors.
 */
export function Bar({
  parts,
  max,
  label,
}: {
  readonly parts: readonly BarPart[];
  readonly max?: number;
  readonly label: string;
}) {
  const whole = Math.max(max ?? parts.reduce((sum, { value }) => sum + value, 0), Number.EPSILON);
  return (
    <figure class="bar" aria-label={label}>
      <div class="bar-track" aria-hidden="true">
        {parts.map(({ label: name, value }, index) => (
          <span key={name} class={`bar-part color-${index % 8}`} style={{ width: `${(100 * value) / whole}%` }} />
        ))}
      </div>
      <figcaption>
        <ul class="legend">
          {parts.map(({ label: name, text }, index) => (
            <li key={name}>
              <span class={`legend-mark color-${index % 8}`} aria-hidden="true" />
              {name} <b>{text}</b>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'plain';

/** A state in one word, such as “completed”. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge is-${tone}`}>{children}</span>;
}
