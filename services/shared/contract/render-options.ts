import type { CaptureRequest } from './capture-request.ts';

/** Page set-up of a pdf, margins in millimetres. */
export interface PdfOptions {
  readonly paper: NonNullable<CaptureRequest['pdf']>['paper'];
  readonly landscape: boolean;
  readonly margin: { readonly top: number; readonly right: number; readonly bottom: number; readonly left: number };
  readonly printBackground: boolean;
  readonly scale: number;
}

/**
 * All that decides the pixels of a capture, after validation, defaults and normalisation: what the renderer is handed,
 * and what the name of a cache entry is made of.
 */
export type RenderOptions = Readonly<
  Pick<
    CaptureRequest,
    | 'format'
    | 'viewport'
    | 'isFullPage'
    | 'quality'
    | 'colorScheme'
    | 'timeout'
    | 'waitUntil'
    | 'imageTimeout'
    | 'delay'
    | 'antiBot'
    | 'block'
  >
> & { readonly pdf: PdfOptions };
