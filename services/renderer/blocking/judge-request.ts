import { Request, type FiltersEngine, type RequestType } from '@ghostery/adblocker';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { ListKind } from './filter-set.ts';
import { isMediaUrl } from './media.ts';

/** A request that a page wants to make. */
export interface PageRequest {
  readonly url: string;
  /** Type of the resource, in the words of the DevTools protocol. */
  readonly resourceType: string;
  /** Address of the document that asks; rules tell third parties by it. */
  readonly documentUrl: string;
  /** The navigation of the page itself. */
  readonly isMainDocument: boolean;
}

const typeOf: Readonly<Record<string, RequestType>> = {
  Document: 'sub_frame',
  Stylesheet: 'stylesheet',
  Image: 'image',
  Media: 'media',
  Font: 'font',
  Script: 'script',
  XHR: 'xhr',
  Fetch: 'xhr',
  EventSource: 'xhr',
  Preflight: 'xhr',
  WebSocket: 'websocket',
  Ping: 'ping',
  CSPViolationReport: 'csp_report',
};

/** Kinds of request that may carry audio or video besides the media type itself. */
const mediaCarriers = new Set(['XHR', 'Fetch', 'Other', 'Document']);

/** Which option of a capture blocks the request, or null when it may go out. The main document always may. */
export function judgeRequest(
  request: PageRequest,
  block: RenderOptions['block'],
  engines: Readonly<Record<ListKind, Pick<FiltersEngine, 'match'>>>,
): keyof RenderOptions['block'] | null {
  if (request.isMainDocument) return null;
  if (block.media) {
    if (request.resourceType === 'Media') return 'media';
    if (mediaCarriers.has(request.resourceType) && isMediaUrl(request.url)) return 'media';
  }
  if (!block.ads && !block.trackers && !block.cookieBanners) return null;
  const details = Request.fromRawDetails({
    url: request.url,
    sourceUrl: request.documentUrl,
    type: typeOf[request.resourceType] ?? 'other',
  });
  if (block.ads && engines.ads.match(details).match) return 'ads';
  if (block.trackers && engines.trackers.match(details).match) return 'trackers';
  if (block.cookieBanners && engines.cookies.match(details).match) return 'cookieBanners';
  return null;
}
