import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { routeChanges } from './routes.ts';

/** The frame of every page. Its title names the tab, and receives the focus when the user arrives from another page. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  readonly title: string;
  readonly lead?: ComponentChildren;
  /** Buttons next to the title. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The heading gets the focus before the first paint. Later, it would take the focus from a field in which the user already types.
  useLayoutEffect(() => {
    if (routeChanges.peek() > 0) heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  useEffect(() => {
    document.title = `${title} · webcapture`;
  }, [title]);
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </div>
      {lead !== undefined && <p class="page-lead">{lead}</p>}
      {children}
    </>
  );
}
