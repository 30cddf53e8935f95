import type { ComponentChildren } from 'preact';

interface CardProps {
  /** Id of the title, unique in the page. */
  readonly id: string;
  readonly title: string;
  /** Classes in addition to `card`. */
  readonly class?: string;
  /** Content next to the title, such as actions or a note. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A section of a page with a title. */
export function Card({ id, title, class: more, aside, children }: CardProps) {
  return (
    <section class={more === undefined ? 'card' : `card ${more}`} aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
