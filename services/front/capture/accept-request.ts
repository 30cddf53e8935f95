import { tokenCost, type CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import type { Format } from '@webcapture/shared/contract/formats.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { CachePlace, Lane } from '@webcapture/shared/contract/capture-job.ts';
import { cacheName } from '@webcapture/shared/state/cache-name.ts';
import { checkRules, type RequestLimits } from '../validation/check-rules.ts';
import { decodeHtml } from '../validation/decode-html.ts';
import { checkWebhook } from './check-webhook.ts';
import { renderOptions } from './render-options.ts';

/** What is to be captured, once every rule has been checked. */
export interface AcceptedRequest {
  readonly source: { readonly kind: 'url'; readonly url: string } | { readonly kind: 'html'; readonly html: string };
  readonly options: RenderOptions;
  readonly format: Format;
  readonly region: 'auto' | Region;
  readonly lane: Lane;
  readonly tokenCost: number;
  /** How long the file is kept. */
  readonly lifetimeMs: number;
  /** Undefined when long-term storage was not asked for. */
  readonly persistence: { readonly refreshIntervalMs: number } | undefined;
  readonly webhookUrl: string | undefined;
  /** Where it is looked for and kept; undefined when the cache was not asked for. */
  readonly cache?: CachePlace | undefined;
}

/**
 * All of step 1 that comes after the schema: the rules between fields, the html, and the egress policy's word on the
 * addresses.
 *
 * @throws ServiceError VALIDATION_ERROR or URL_BLOCKED
 */
export function acceptRequest(
  request: CaptureRequest,
  deps: { readonly limits: RequestLimits; readonly policy: Pick<EgressPolicy, 'checkLiteral'> },
): AcceptedRequest {
  checkRules(request, deps.limits);
  checkWebhook(request.webhook, deps.policy);
  const options = renderOptions(request);
  const { responseCache, persistence } = request;
  const source = readSource(request);
  const kept = persistence.enabled ? { refreshIntervalMs: persistence.refreshInterval * 1000 } : undefined;
  if (source.kind === 'url') deps.policy.checkLiteral(new URL(source.url));
  return {
    source,
    options,
    format: request.format,
    region: request.region,
    lane: request.background ? 'background' : 'interactive',
    tokenCost: tokenCost(request),
    lifetimeMs: 1000 * (persistence.enabled ? deps.limits.persistenceSeconds : request.cdnTtl),
    persistence: kept,
    webhookUrl: request.webhook?.url,
    cache: responseCache.enabled
      ? { name: cacheName(source, options, request.region, kept), ttl: responseCache.ttl }
      : undefined,
  };
}

function readSource({ url, html }: CaptureRequest): AcceptedRequest['source'] {
  return html === undefined ? { kind: 'url', url: url ?? '' } : { kind: 'html', html: decodeHtml(html) };
}
