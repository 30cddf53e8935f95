/// <reference lib="dom" />

/** Lets scripts look again at what is in sight, that do so on scrolling and not on resizing. */
export function announceScroll(): void {
  document.dispatchEvent(new Event('scroll', { bubbles: true }));
}
