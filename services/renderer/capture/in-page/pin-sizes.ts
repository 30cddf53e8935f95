/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Gives the sizes that followed the height of the viewport (`100vh`, a share of the root's height, a script that copies
 * `innerHeight`) their value from before it grew, in px.
 *
 * @param properties those that were remembered
 * @returns how many elements were changed
 */
export function pinSizes(properties: readonly string[]): number {
  const state = globalThis as PageState;
  const sizes = state.webcaptureSizes;
  if (sizes === undefined || sizes.viewHeight === innerHeight) return 0;
  const { viewHeight, elements } = sizes;
  const grown = innerHeight - viewHeight;
  const shapeOf = (value: string) => value.replaceAll(/-?[\d.]+px/g, '#');
  /** In step with the viewport, as `50vh` is, or by as much, as `calc(100vh - 10px)` is. */
  const follows = (before: string, after: string) => {
    const [from, to] = [Number.parseFloat(before), Number.parseFloat(after)];
    return Math.abs(to - from - grown) <= 1 || Math.abs(to / from / (innerHeight / viewHeight) - 1) < 0.02;
  };
  const toggled = new Set(
    elements.filter(({ element, classes }) => element.className !== classes).map(({ element }) => element),
  );
  const isToggled = (element: HTMLElement) => {
    if (toggled.size === 0) return false;
    let at: HTMLElement | null = element;
    while (at !== null && !toggled.has(at)) at = at.parentElement;
    return at !== null;
  };
  const pins: { element: HTMLElement; property: string; value: string }[] = [];

  // All are read before one is changed: each change would have the page laid out again.
  for (const { element, height, values } of elements) {
    if (!element.isConnected) continue;
    const computed = element.computedStyleMap();
    properties.forEach((property, index) => {
      const before = values[index] ?? '';
      if (!before.includes('px')) return;
      const after = computed.get(property)?.toString() ?? '';
      if (before === after || shapeOf(before) !== shapeOf(after)) return;
      // Scripts change sizes for other reasons too: a grid grows as its images come in, a part unfolds when it is seen.
      const scripted = element.style.getPropertyValue(property) === after || isToggled(element);
      if (!scripted || follows(before, after)) pins.push({ element, property, value: before });
    });
    // Heights that are a share of the root's, or stretched, are not seen in computed values.
    const stretched = Math.abs(height - viewHeight) <= 1;
    if (stretched && Math.abs(element.getBoundingClientRect().height - innerHeight) <= 1) {
      pins.push({ element, property: 'height', value: `${height}px` });
    }
  }
  for (const { element, property, value } of pins) element.style.setProperty(property, value, 'important');
  state.webcaptureMotion?.observer.takeRecords();
  return new Set(pins.map(({ element }) => element)).size;
}
