import {
  contextOfRequest,
  type Attributes,
  failSpan,
  runInSpan,
  type Span,
  type SpanFields,
  spanFields,
  SpanKind,
  startSpan,
} from '@webcapture/shared/tracing/spans.ts';
import type { FastifyRequest } from 'fastify';

type TraceableRequest = Pick<FastifyRequest, 'method' | 'headers' | 'routeOptions'>;

/**
 * The server span of a request for a capture. Its start time is the arrival of the request, but it is created when the request is
 * authenticated. Clients without a key therefore cause no spans.
 */
export class RequestTrace {
  readonly #request: TraceableRequest | undefined;
  readonly #startTime: number;
  #span: Span | undefined;

  /** @param startTime by `performance.now()` */
  constructor(request: TraceableRequest | undefined, startTime: number) {
    this.#request = request;
    this.#startTime = startTime;
  }

  /** Runs `work` in the span, which continues the trace of the client. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#request === undefined) return work();
    this.#span ??= this.#start(this.#request);
    return runInSpan(this.#span, work);
  }

  #start({ method, headers, routeOptions: { url: route = '' } }: TraceableRequest): Span {
    const attributes = { 'http.request.method': method, 'http.route': route };
    const options = { kind: SpanKind.SERVER, startTime: this.#startTime, attributes };
    return startSpan(`${method} ${route}`, options, contextOfRequest(headers));
  }

  /** Sets attributes of the span, if the request has one. */
  set(attributes: Attributes): void {
    this.#span?.setAttributes(attributes);
  }

  /** Ends the span. `code` is that of an error response. Returns the fields for the request's log line. */
  end(status: number, code: string | undefined): SpanFields {
    const span = this.#span;
    if (span === undefined) return {};
    const fields = spanFields(span);
    span.setAttribute('http.response.status_code', status);
    // By convention, an error of the client is not a failure of the server.
    if (status >= 500) failSpan(span, code ?? String(status));
    else if (code !== undefined) span.setAttribute('error.type', code);
    span.end();
    return fields;
  }
}
