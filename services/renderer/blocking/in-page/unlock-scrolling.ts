/// <reference lib="dom" />

/** Undoes what consent dialogs do to a page behind them: locked scrolling, a body pinned in place, a blur. */
export function unlockScrolling(): void {
  const root = document.documentElement;
  const body = document.body as HTMLElement | null;
  const set = (element: HTMLElement, property: string, value: string) =>
    element.style.setProperty(property, value, 'important');

  for (const element of body === null ? [root] : [root, body]) {
    const { overflowX, overflowY, position } = getComputedStyle(element);
    if (overflowY === 'hidden' || overflowY === 'clip') {
      set(element, 'overflow', 'visible');
      // What sticks out at the side stays cut off, without making the body a scroller of its own.
      if (element === body && (overflowX === 'hidden' || overflowX === 'clip')) set(element, 'overflow-x', 'clip');
    }
    if (position === 'fixed') {
      set(element, 'position', 'static');
      set(element, 'top', 'auto');
    }
  }
  for (const element of [root, ...(body === null ? [] : [body, ...body.children])]) {
    if (element instanceof HTMLElement && getComputedStyle(element).filter.includes('blur'))
      set(element, 'filter', 'none');
  }
}
