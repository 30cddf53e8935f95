import { Request, type FiltersEngine, type RequestType } from '@ghostery/adblocker';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { diagnosticsLimits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { Blocker } from './blocker.ts';
import { listOf, listOptionsOf, type ListKind } from './filter-set.ts';
import {
  hasResponse,
  type PausedRequest,
  type RequestPattern,
  type RequestRule,
} from '../browser/request-interceptor.ts';

/** Maximum number of blocked images whose addresses are kept, for hiding them before the shot. */
const maxImages = 1000;

/**
 * Decides about each request of a page before it leaves the browser. A blocked request fails immediately with `blockedbyclient`. A
 * Playwright route would need three times the processor time for each request, disable the cache, and not see redirect targets.
 */
export class RequestGuard implements RequestRule {
  readonly #block: RenderOptions['block'];
  readonly #blocker: Blocker;
  readonly #page: { readonly mainFrameId: string; readonly url: () => string };
  readonly #documents = new Map<string, string>();
  readonly #images = new Set<string>();
  readonly #frames = new Set<string>();
  readonly #remembered: BlockedRequest[] = [];
  #blocked = 0;
  #consentScriptSeen = false;

  constructor(
    block: RenderOptions['block'],
    blocker: Blocker,
    page: { readonly mainFrameId: string; readonly url: () => string },
  ) {
    this.#block = block;
    this.#blocker = blocker;
    this.#page = page;
  }

  /** Number of blocked requests so far. */
  get blocked(): number {
    return this.#blocked;
  }

  /** Addresses of blocked images and ids of blocked frames, whose boxes must be hidden. */
  get remains(): { readonly images: readonly string[]; readonly frames: readonly string[] } {
    return { images: [...this.#images], frames: [...this.#frames] };
  }

  /** Returns the first blocked requests, each with the filter that matched it. The filter is null for media, which no filter decides. */
  describeBlocked(): readonly (BlockedRequest & { readonly filter: string | null })[] {
    const { engines } = this.#blocker;
    return this.#remembered.map((request) => {
      if (request.option === 'media') return { ...request, filter: null };
      const { filter } = engines[listOf[request.option]].match(detailsOf(request));
      return { ...request, filter: filter?.toString() ?? null };
    });
  }

  /** Whether a script was allowed that looks like one of a consent manager. Its dialog may open late. */
  get consentScriptSeen(): boolean {
    return this.#consentScriptSeen;
  }

  get patterns(): readonly RequestPattern[] {
    const requests =
      listOptionsOf(this.#block).length > 0
        ? [{ urlPattern: '*' }]
        : (['Media', 'XHR', 'Fetch', 'Other', 'Document'] as const).map((resourceType) => ({ resourceType }));
    if (!this.#block.media) return requests;
    // Whether a script's request loads a part of a video is visible only in its response.
    const answers = (['XHR', 'Fetch'] as const).map((resourceType) => ({
      resourceType,
      requestStage: 'Response' as const,
    }));
    return [...requests, ...answers];
  }

  readonly blocks = (paused: PausedRequest): boolean => {
    const blocked = this.#judge(paused);
    if (blocked !== null) {
      this.#blocked += 1;
      this.#remember(blocked, paused.frameId);
      return true;
    }
    if (paused.resourceType === 'Document') this.#frames.delete(paused.frameId);
    if (paused.resourceType === 'Script' && isConsentScript(paused.request.url)) this.#consentScriptSeen = true;
    return false;
  };

  /** Returns the request with the option that blocks it; null if it is allowed. */
  #judge(paused: PausedRequest): BlockedRequest | null {
    const { request, frameId, resourceType } = paused;
    const parentUrl = this.#documents.get(this.#page.mainFrameId) ?? this.#page.url();
    const isDocument = resourceType === 'Document';
    const documentUrl = isDocument ? parentUrl : (this.#documents.get(frameId) ?? parentUrl);
    const isMainDocument = isDocument && frameId === this.#page.mainFrameId;
    const asked = { url: request.url, resourceType, documentUrl, isMainDocument };
    if (hasResponse(paused)) {
      const contentType = paused.responseHeaders?.find(({ name }) => name.toLowerCase() === 'content-type');
      return isMediaContentType(contentType?.value) ? { ...asked, option: 'media' } : null;
    }
    if (isDocument) this.#documents.set(frameId, request.url);
    const { engines, log } = this.#blocker;
    try {
      const option = judgeRequest(asked, this.#block, engines);
      return option === null ? null : { ...asked, option };
    } catch (error) {
      log.warn({ err: error, url: request.url }, 'matching a request against the filter lists failed; allowing it');
      return null;
    }
  }

  #remember(blocked: BlockedRequest, frameId: string): void {
    if (this.#remembered.length < diagnosticsLimits.blocked) this.#remembered.push(blocked);
    if (blocked.resourceType === 'Document') this.#frames.add(frameId);
    else if (blocked.resourceType === 'Image' && this.#images.size < maxImages) this.#images.add(blocked.url);
  }
}

/** A blocked request with the option that blocked it. */
interface BlockedRequest extends PageRequest {
  readonly option: keyof RenderOptions['block'];
}

/** A request of a page. */
export interface PageRequest {
  readonly url: string;
  /** Resource type as in the DevTools protocol. */
  readonly resourceType: string;
  /** Address of the requesting document; rules use it to detect third parties. */
  readonly documentUrl: string;
  /** Whether the request is a navigation of the page itself. */
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

/** Resource types that may carry audio or video in addition to Media. */
const mediaCarriers = new Set(['XHR', 'Fetch', 'Other', 'Document']);

/** Returns the option of a capture that blocks the request, or null if it is allowed. The main document is always allowed. */
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
  const options = listOptionsOf(block);
  if (options.length === 0) return null;
  const details = detailsOf(request);
  return options.find((option) => engines[listOf[option]].match(details).match) ?? null;
}

const detailsOf = ({ url, documentUrl, resourceType }: PageRequest) =>
  Request.fromRawDetails({ url, sourceUrl: documentUrl, type: typeOf[resourceType] ?? 'other' });

const mediaPath =
  /\.(?:mp4|m4v|m4s|m4a|m4b|cmfv|cmfa|webm|weba|ogv|oga|ogg|opus|mp3|aac|flac|wav|mov|mkv|avi|wmv|mpe?g|3gp|flv|f4v|m3u8|mpd)$/i;

const mediaType = /^\s*(?:audio|video)\/|^\s*application\/(?:(?:x-|vnd\.apple\.)?mpegurl|dash\+xml|ogg)\b/i;

/** Whether the path of an address ends like an audio or video file, or like the playlist of one. */
export function isMediaUrl(url: string): boolean {
  const pathname = URL.parse(url)?.pathname;
  return pathname !== undefined && mediaPath.test(pathname);
}

/** Whether a Content-Type is that of audio, video, or a playlist. */
export function isMediaContentType(contentType: string | undefined): boolean {
  return contentType !== undefined && mediaType.test(contentType);
}

const consentScript =
  /consent|onetrust|otsdkstub|cookielaw|cookiebot|didomi|usercentrics|quantcast|\bcmp\b|cmp2|trustarc|truste|sourcepoint|privacy-mgmt|iubenda|osano|termly|axeptio|klaro|tarteaucitron|borlabs|complianz|gdpr|cookie-?(?:banner|law|script|yes|first|notice|bar|control|info|pro|hub|hint|popup|modal)/i;

/** Whether a script's address looks like that of a consent manager. (`js.cookie.js` does not count, because many sites use it.) */
export function isConsentScript(url: string): boolean {
  const { host, pathname } = URL.parse(url) ?? { host: '', pathname: '' };
  return consentScript.test(host + pathname);
}
