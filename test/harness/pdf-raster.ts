import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import type { RenderParameters } from 'pdfjs-dist/types/src/display/api.js';
import { Picture } from './picture.ts';

interface Surface {
  readonly context: NonNullable<RenderParameters['canvasContext']>;
}

/** Renders a page of a PDF at 72 dpi times `scale`, on white paper. */
export async function rasterPage(bytes: Buffer, page = 1, scale = 1): Promise<Picture> {
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: 0 });
  try {
    const document = await task.promise;
    const found = await document.getPage(page);
    const viewport = found.getViewport({ scale });
    const factory = document.canvasFactory as { create(width: number, height: number): Surface };
    const [width, height] = [Math.round(viewport.width), Math.round(viewport.height)];
    const { context } = factory.create(width, height);
    await found.render({ canvas: null, canvasContext: context, viewport, background: '#ffffff' }).promise;
    return Picture.ofPixels(context.getImageData(0, 0, width, height).data, width, height);
  } finally {
    await task.destroy();
  }
}
