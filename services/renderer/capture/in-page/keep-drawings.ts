/// <reference lib="dom" />

/**
 * Makes every WebGL canvas keep what it has drawn: else it is empty once it has been shown, and blank on paper. Its
 * source runs in the page before its own scripts.
 */
export function keepDrawings(): void {
  for (const { prototype } of [HTMLCanvasElement, OffscreenCanvas]) {
    prototype.getContext = new Proxy(prototype.getContext, {
      apply: (getContext, canvas, [kind, attributes]: [unknown, object?]) =>
        Reflect.apply<unknown, unknown[], unknown>(
          getContext as never,
          canvas,
          /webgl/.test(String(kind)) ? [kind, { ...attributes, preserveDrawingBuffer: true }] : [kind, attributes],
        ),
    });
  }
}
