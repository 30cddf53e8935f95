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
  const sizes = (globalThis as PageState).webcaptureSizes;
  if (sizes === undefined || sizes.viewHeight === innerHeight) return 0;
  const { viewHeight, elements } = sizes;
  const inPixels = /^-?[\d.]+px$/;
  const ratio = innerHeight / viewHeight;
  const pins: { element: HTMLElement; property: string; value: string }[] = [];

  // All are read before one is changed: each change would have the page laid out again.
  for (const { element, height, values } of elements) {
    if (!element.isConnected) continue;
    const computed = element.computedStyleMap();
    properties.forEach((property, index) => {
      const before = values[index] ?? '';
      const after = computed.get(property)?.toString() ?? '';
      if (before === after || !inPixels.test(before) || !inPixels.test(after)) return;
      // A script sets heights for other reasons too, e.g. that of a grid of images as they come in.
      const scripted = element.style.getPropertyValue(property) === after;
      const follows = Math.abs(Number.parseFloat(after) / Number.parseFloat(before) / ratio - 1) < 0.02;
      if (!scripted || follows) pins.push({ element, property, value: before });
    });
    // Heights that are a share of the root's, or stretched, are not seen in computed values.
    const stretched = Math.abs(height - viewHeight) <= 1;
    if (stretched && Math.abs(element.getBoundingClientRect().height - innerHeight) <= 1) {
      pins.push({ element, property: 'height', value: `${height}px` });
    }
  }
  for (const { element, property, value } of pins) element.style.setProperty(property, value, 'important');
  (globalThis as PageState).webcaptureMotion?.observer.takeRecords();
  return new Set(pins.map(({ element }) => element)).size;
}
