import { diagnosticsLimits as limits } from '@webcapture/shared/api/diagnostics-limits.ts';
import type { RenderDiagnostics, RequestEntry } from '@webcapture/shared/api/diagnostics.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Page, Request, Response } from 'playwright';
import type { ProxySession } from '../egress/proxy.ts';
import type { Redactor } from './redact.ts';

/** Maximum number of requests that are recorded. Further requests of the page are only counted. */
const maxNoted = 2000;

/** Timeout for reading the sizes of all requests. It is short, because Playwright has them in this process. */
const sizesTimeoutMs = 500;

interface Noted {
  readonly request: Request;
  readonly startedAt: number;
  response?: Response;
  respondedAt?: number;
  endedAt?: number;
  error?: string;
}

type Failures = Pick<ProxySession, 'failureOf'>;

interface DescribeOptions {
  /** Start of the rendering by `performance.now()`. */
  readonly origin: number;
  readonly redactor: Redactor;
  readonly failures: Failures;
}

/**
 * Records the requests of a page. Other steps of the capture listen to the same events, so the browser sends no additional ones. Steps
 * that take time run in `describe`.
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

  /** Describes the most informative requests. */
  async describe(options: DescribeOptions): Promise<Pick<RenderDiagnostics, 'requests' | 'requestCount' | 'blocked'>> {
    const { redactor, failures } = options;
    const chosen = mostInformative([...this.#noted.values()]);
    const sizes = await sizesOf(chosen);
    const refused = chosen.filter((noted) => reasonOf(noted, failures) === 'blocked');
    return {
      requests: chosen.map((noted) => describeRequest(noted, sizes.get(noted), options)),
      requestCount: this.#count,
      blocked: refused.map(({ request }) => ({
        url: redactor.url(request.url()),
        type: request.resourceType(),
        rule: 'egressPolicy',
        filter: null,
      })),
    };
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

/** Returns the requests that failed or did not end, then the slowest, in the order of their start. */
function mostInformative(all: readonly Noted[]): Noted[] {
  const ranked = all.map((noted) => ({ noted, rank: rankOf(noted) }));
  const chosen = ranked.toSorted((a, b) => b.rank - a.rank).slice(0, limits.requests);
  return chosen.map(({ noted }) => noted).toSorted((a, b) => a.startedAt - b.startedAt);
}

function rankOf(noted: Noted): number {
  const { startedAt, endedAt } = noted;
  return endedAt === undefined || isFailure(noted) ? Number.MAX_VALUE : endedAt - startedAt;
}

const isFailure = ({ error, response }: Noted) => error !== undefined || (response?.status() ?? 0) >= 400;

/**
 * Returns why the egress proxy failed a request. The browser does not know this for plain http, where it sees a response with an error
 * status.
 */
const reasonOf = (noted: Noted, failures: Failures) =>
  isFailure(noted) ? failures.failureOf(noted.request.url()) : undefined;

async function sizesOf(chosen: readonly Noted[]): Promise<ReadonlyMap<Noted, number>> {
  const sizes = new Map<Noted, number>();
  const ended = chosen.filter(({ response, endedAt }) => response !== undefined && endedAt !== undefined);
  const asking = ended.map(async (noted) => {
    const { responseBodySize } = await noted.request.sizes();
    sizes.set(noted, Math.max(0, responseBodySize));
  });
  // If a size does not arrive in time, it stays unknown.
  await withDeadline(Promise.allSettled(asking), sizesTimeoutMs, 'sizes').catch(() => undefined);
  return sizes;
}

function describeRequest(
  noted: Noted,
  bytes: number | undefined,
  { origin, redactor, failures }: DescribeOptions,
): RequestEntry {
  const name = (text: string) => redactor.text(text, limits.name);
  const { request, response, startedAt, respondedAt, endedAt, error } = noted;
  const since = (start: number, end: number) => Math.max(0, Math.round(end - start));
  const reason = reasonOf(noted, failures);
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
    startMs: since(origin, startedAt),
    waitMs: respondedAt === undefined ? null : since(startedAt, respondedAt),
    durationMs: endedAt === undefined ? null : since(startedAt, endedAt),
  };
}
