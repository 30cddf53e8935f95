import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics, RequestEntry } from '@webcapture/shared/api/diagnostics.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Page, Request, Response } from 'playwright';
import type { ProxySession } from '../egress/proxy.ts';
import type { Redactor } from './redact.ts';

/** A page with more requests has the rest counted only. */
const maxNoted = 2000;

/** For the sizes of all requests that are kept. Playwright has them in this process. */
const sizesTimeoutMs = 500;

interface Noted {
  readonly request: Request;
  readonly startedAt: number;
  response?: Response;
  respondedAt?: number;
  endedAt?: number;
  error?: string;
}

/**
 * Notes the requests of a page by events that Playwright delivers in any case. All that takes time is left until somebody wants to know.
 */
export class RequestLog {
  readonly #page: Page;
  readonly #noted = new Map<Request, Noted>();
  #count = 0;

  constructor(page: Page) {
    this.#page = page;
    page.on('request', this.#began).on('response', this.#responded);
    page.on('requestfinished', this.#finished).on('requestfailed', this.#failed);
  }

  stop(): void {
    this.#page.off('request', this.#began).off('response', this.#responded);
    this.#page.off('requestfinished', this.#finished).off('requestfailed', this.#failed);
    this.#noted.clear();
  }

  /** The requests that tell most. @param origin start of the rendering, by `performance.now()` */
  async describe(
    origin: number,
    redactor: Redactor,
    proxySession: Pick<ProxySession, 'failureOf'>,
  ): Promise<Pick<RenderDiagnostics, 'requests' | 'requestCount' | 'blocked'>> {
    const chosen = mostTelling([...this.#noted.values()]);
    const sizes = await this.#sizesOf(chosen);
    const blocked = chosen.filter((noted) => reasonOf(noted, proxySession) === 'blocked');
    return {
      requests: chosen.map((noted) => describeRequest(noted, sizes.get(noted), { origin, redactor, proxySession })),
      requestCount: this.#count,
      blocked: blocked.map(({ request }) => ({
        url: redactor.url(request.url()),
        type: request.resourceType(),
        rule: 'egressPolicy',
        filter: null,
      })),
    };
  }

  async #sizesOf(chosen: readonly Noted[]): Promise<ReadonlyMap<Noted, number>> {
    const sizes = new Map<Noted, number>();
    const ended = chosen.filter(({ response, endedAt }) => response !== undefined && endedAt !== undefined);
    const asking = ended.map(async (noted) => {
      const { responseBodySize } = await noted.request.sizes();
      sizes.set(noted, Math.max(0, responseBodySize));
    });
    // What the page, or the time, leaves open is not known.
    await withDeadline(Promise.allSettled(asking), sizesTimeoutMs, 'sizes').catch(() => undefined);
    return sizes;
  }

  readonly #began = (request: Request): void => {
    this.#count += 1;
    if (this.#noted.size < maxNoted) this.#noted.set(request, { request, startedAt: performance.now() });
  };

  readonly #responded = (response: Response): void => {
    const noted = this.#noted.get(response.request());
    if (noted === undefined) return;
    noted.response = response;
    noted.respondedAt = performance.now();
  };

  readonly #finished = (request: Request): void => {
    const noted = this.#noted.get(request);
    if (noted !== undefined) noted.endedAt = performance.now();
  };

  readonly #failed = (request: Request): void => {
    const noted = this.#noted.get(request);
    if (noted === undefined) return;
    noted.endedAt = performance.now();
    noted.error = request.failure()?.errorText ?? 'failed';
  };
}

/** Those that failed or did not end, then the slowest, in the order of their start. */
function mostTelling(all: readonly Noted[]): Noted[] {
  const ranked = all.map((noted) => ({ noted, rank: rankOf(noted) }));
  const chosen = ranked.toSorted((a, b) => b.rank - a.rank).slice(0, limits.requests);
  return chosen.map(({ noted }) => noted).toSorted((a, b) => a.startedAt - b.startedAt);
}

/** Why the proxy let a request come to nothing, which for http it says in a response of its own. */
const reasonOf = ({ request, error, response }: Noted, proxySession: Pick<ProxySession, 'failureOf'>) =>
  error !== undefined || (response?.status() ?? 0) >= 400 ? proxySession.failureOf(request.url()) : undefined;

function rankOf({ startedAt, endedAt, error, response }: Noted): number {
  if (endedAt === undefined || error !== undefined || (response?.status() ?? 0) >= 400) return Number.POSITIVE_INFINITY;
  return endedAt - startedAt;
}

function describeRequest(
  noted: Noted,
  bytes: number | undefined,
  {
    origin,
    redactor,
    proxySession,
  }: { origin: number; redactor: Redactor; proxySession: Pick<ProxySession, 'failureOf'> },
): RequestEntry {
  const name = (text: string) => redactor.text(text, limits.name);
  const { request, response, startedAt, respondedAt, endedAt, error } = noted;
  const reason = reasonOf(noted, proxySession);
  const failure = [error, reason === undefined ? undefined : `(${reason})`].filter((part) => part !== undefined);
  const type = response?.headers()['content-type'];
  return {
    url: redactor.url(request.url()),
    method: name(request.method()),
    type: request.resourceType(),
    status: response === undefined ? null : Math.min(999, Math.max(0, response.status())),
    error: failure.length === 0 ? null : name(failure.join(' ')),
    mimeType: type === undefined ? null : name(type.split(';')[0] ?? ''),
    bytes: bytes ?? null,
    startMs: Math.max(0, Math.round(startedAt - origin)),
    waitMs: respondedAt === undefined ? null : Math.max(0, Math.round(respondedAt - startedAt)),
    durationMs: endedAt === undefined ? null : Math.max(0, Math.round(endedAt - startedAt)),
  };
}
