import type { CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { assertRoom, pdfOptions } from './pdf-options.ts';

/** All that decides the pixels, out of a request that keeps the rules. Throws a VALIDATION_ERROR for a pdf without room. */
export function renderOptions(request: CaptureRequest): RenderOptions {
  const pdf = pdfOptions(request.pdf);
  if (request.format === 'pdf') assertRoom(pdf, request.isFullPage ? request.viewport.width : null);
  return {
    format: request.format,
    viewport: request.viewport,
    isFullPage: request.isFullPage,
    quality: request.quality,
    colorScheme: request.colorScheme,
    timeout: request.timeout,
    waitUntil: request.waitUntil,
    imageTimeout: request.imageTimeout,
    delay: request.delay,
    antiBot: request.antiBot,
    block: request.block,
    pdf,
  };
}
