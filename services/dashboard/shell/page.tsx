import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { routeChanges } from './routes.ts';

/** The frame of every page: its title names the tab, and takes the focus when one comes from another page. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  readonly title: string;
  readonly lead?: ComponentChildren;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Before anybody sees the page: later it would be taken from whoever types already.
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
