import type { CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { pdfOptions } from './pdf-options.ts';

/** All that decides the pixels, out of a valid request. */
export function renderOptions(request: CaptureRequest): RenderOptions {
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
    pdf: pdfOptions(request.pdf),
  };
}
