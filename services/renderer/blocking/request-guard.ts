import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { Blocker } from './blocker.ts';
import { isConsentScript } from './consent/consent-script-url.ts';
import { judgeRequest } from './judge-request.ts';
import { isMediaContentType } from './media.ts';
import type { Target, TargetEvents } from './target-tree.ts';

type PausedRequest = TargetEvents['Fetch.requestPaused'];

/** So many blocked images are remembered, to be hidden before the shot. */
const maxImages = 1000;

/**
 * Decides each request of a page before it leaves the browser. A blocked one fails at once as `blockedbyclient`.
 *
 * The requests are paused by the protocol's own means: a Playwright route costs three times the processor time for each
 * request, disables the cache, and does not see where a redirect leads. Not seen are WebSockets, which the protocol
 * does not pause, and the requests that shared workers make themselves, which belong to no page.
 */
export class RequestGuard {
  readonly #block: RenderOptions['block'];
  readonly #blocker: Blocker;
  readonly #pageUrl: () => string;
  readonly #documents = new Map<string, string>();
  readonly #images = new Set<string>();
  readonly #frames = new Set<string>();
  #mainFrameId: string | undefined;
  #blocked = 0;
  #consentScriptSeen = false;

  constructor(block: RenderOptions['block'], options: { readonly blocker: Blocker; readonly pageUrl: () => string }) {
    this.#block = block;
    this.#blocker = options.blocker;
    this.#pageUrl = options.pageUrl;
  }

  /** Requests kept from loading so far. */
  get blocked(): number {
    return this.#blocked;
  }

  /** Addresses of the images, and ids of the frames, that were blocked: what is left of them is to be hidden. */
  get remains(): { readonly images: readonly string[]; readonly frames: readonly string[] } {
    return { images: [...this.#images], frames: [...this.#frames] };
  }

  /** A script that looks like a consent manager's was let through: its dialog may come late. */
  get consentScriptSeen(): boolean {
    return this.#consentScriptSeen;
  }

  async prepare(target: Target): Promise<void> {
    const [{ frameTree }] = await Promise.all([target.send('Page.getFrameTree'), this.prepareWorker(target)]);
    // The page's own target is the first to be prepared.
    this.#mainFrameId ??= frameTree.frame.id;
  }

  /** A target without frames. */
  async prepareWorker(target: Target): Promise<void> {
    target.on('Fetch.requestPaused', (paused) => this.#decide(target, paused));
    await target.send('Fetch.enable', { patterns: this.#patterns() });
  }

  #patterns() {
    const { ads, trackers, cookieBanners, media } = this.#block;
    const requests =
      ads || trackers || cookieBanners
        ? [{ urlPattern: '*' }]
        : (['Media', 'XHR', 'Fetch', 'Other', 'Document'] as const).map((resourceType) => ({ resourceType }));
    if (!media) return requests;
    // What a script fetches shows only by its answer whether it is a piece of a video.
    const answers = (['XHR', 'Fetch'] as const).map((resourceType) => ({
      resourceType,
      requestStage: 'Response' as const,
    }));
    return [...requests, ...answers];
  }

  #decide(target: Target, paused: PausedRequest): void {
    const { requestId } = paused;
    // Rejections: the page, the frame or the request went away meanwhile.
    if (this.#isBlocked(paused)) {
      this.#blocked += 1;
      this.#remember(paused);
      target.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }).catch(() => undefined);
    } else {
      if (paused.resourceType === 'Document') this.#frames.delete(paused.frameId);
      if (paused.resourceType === 'Script' && isConsentScript(paused.request.url)) this.#consentScriptSeen = true;
      target.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
    }
  }

  #isBlocked({ request, frameId, resourceType, ...paused }: PausedRequest): boolean {
    if (paused.responseStatusCode !== undefined || paused.responseErrorReason !== undefined) {
      const contentType = paused.responseHeaders?.find(({ name }) => name.toLowerCase() === 'content-type');
      return isMediaContentType(contentType?.value);
    }
    const parentUrl = this.#documents.get(this.#mainFrameId ?? '') ?? this.#pageUrl();
    const isDocument = resourceType === 'Document';
    const isMainDocument = isDocument && frameId === this.#mainFrameId;
    const documentUrl = isDocument ? parentUrl : (this.#documents.get(frameId) ?? parentUrl);
    if (isDocument) this.#documents.set(frameId, request.url);
    const { engines, log } = this.#blocker;
    try {
      return (
        judgeRequest({ url: request.url, resourceType, documentUrl, isMainDocument }, this.#block, engines) !== null
      );
    } catch (error) {
      log.warn({ err: error, url: request.url }, 'a request could not be judged and goes out');
      return false;
    }
  }

  #remember({ request, frameId, resourceType }: PausedRequest): void {
    if (resourceType === 'Document') this.#frames.add(frameId);
    else if (resourceType === 'Image' && this.#images.size < maxImages) this.#images.add(request.url);
  }
}
