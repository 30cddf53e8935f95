import type { CaptureReport } from '@webcapture/shared/contract/capture-result.ts';
import type { MimeType } from '@webcapture/shared/contract/formats.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';

export type RenderSource =
  { readonly kind: 'url'; readonly url: string } | { readonly kind: 'html'; readonly html: string };

export interface RenderRequest {
  readonly source: RenderSource;
  readonly options: RenderOptions;
  /** In a browser of its own: for an account that shares none, and a capture that may have brought down a shared one. */
  readonly ownBrowser: boolean;
  /** Aborts when the capture is cancelled, or when the renderer stops and cannot wait for it. */
  readonly signal: AbortSignal;
  /** Unix milliseconds; the whole rendering is over by then. */
  readonly deadline: number;
  /**
   * The page is closed, and the next one made ready, when this settles: both take a processor for a moment, which is
   * better spent on what is still to be done for the answer. Without it they do not wait.
   */
  readonly answered?: Promise<void>;
}

/** What the rendering knows of how good it is; queueing and storing are others' business. */
export type RenderReport = Omit<CaptureReport, 'timings'> & {
  readonly timings: Pick<CaptureReport['timings'], 'navigateMs' | 'settleMs' | 'shootMs'>;
};

export interface Rendering {
  readonly bytes: Buffer;
  readonly mimeType: MimeType;
  /** Pixels of the file; of a pdf, CSS pixels of its first page. */
  readonly width: number;
  readonly height: number;
  readonly report: RenderReport;
}
