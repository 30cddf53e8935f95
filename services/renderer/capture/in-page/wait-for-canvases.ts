/// <reference lib="dom" />

/**
 * Waits until the canvases of the document have come to rest: charts draw themselves in over a second or so, and nobody
 * tells when they are done. Those that never rest are not waited for longer than `mostMs`.
 */
export async function waitForCanvases(mostMs: number): Promise<void> {
  /** Between two looks the page is drawn so often: what moves has moved by then. */
  const framesBetween = 3;
  /** A page that draws nothing is looked at all the same. */
  const mostFrameMs = 50;
  const side = 96;

  const canvases = [...document.querySelectorAll('canvas')].filter(
    (canvas) => canvas.width > 0 && canvas.height > 0 && canvas.checkVisibility(),
  );
  if (canvases.length === 0) return;
  const smaller = () => {
    const small = document.createElement('canvas');
    small.width = small.height = side;
    return small.getContext('2d', { willReadFrequently: true });
  };
  let context = smaller();

  const look = (): string =>
    canvases
      .map((canvas) => {
        try {
          context?.clearRect(0, 0, side, side);
          context?.drawImage(canvas, 0, 0, side, side);
          const data = context?.getImageData(0, 0, side, side).data ?? new Uint8ClampedArray();
          return data.reduce((hash, value) => (Math.imul(hash, 31) + value) | 0, 0);
        } catch {
          // What holds pictures of another site cannot be read, nor can what it was drawn on.
          context = smaller();
          return 'unreadable';
        }
      })
      .join();

  const end = performance.now() + mostMs;
  let last = look();
  while (performance.now() < end) {
    for (let frame = 0; frame < framesBetween; frame += 1) {
      await new Promise<void>((resolve) => {
        requestAnimationFrame(() => resolve());
        setTimeout(resolve, mostFrameMs);
      });
    }
    const now = look();
    if (now === last) return;
    last = now;
  }
}
