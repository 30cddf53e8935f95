import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { bytesIn, type Fields, integerIn, messagesIn, readFields } from './protobuf.ts';

type Attributes = Readonly<Record<string, string | boolean | number | undefined>>;

interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root of a trace. */
  readonly parentSpanId: string;
  readonly kind: string | undefined;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly hasFailed: boolean;
  readonly attributes: Attributes;
  /** Attributes of the process. */
  readonly resource: Attributes;
}

/** A receiver of spans by OTLP over HTTP with protobuf, as collectors have. */
export interface TraceReceiver extends AsyncDisposable {
  /** Address in the format of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  /** All received spans. */
  readonly spans: () => readonly ReceivedSpan[];
  /** The headers of the received requests. */
  readonly headers: () => readonly IncomingHttpHeaders[];
  /** The received messages as text, to search for what must not be there. */
  readonly text: () => string;
}

/** Starts a receiver on loopback. It refuses other paths and encodings than those of OTLP. */
export async function startTraceReceiver(): Promise<TraceReceiver> {
  const received: Buffer[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    buffer(request).then(
      (body) => {
        const isExport = request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf';
        headers.push(request.headers);
        if (isExport) received.push(body);
        response.writeHead(isExport ? 200 : 400, { 'content-type': 'application/x-protobuf' }).end();
      },
      () => response.destroy(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => received.flatMap(spansOf),
    headers: () => headers,
    text: () => received.map((body) => body.toString('latin1')).join('\n'),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const statusError = 2n;

/** Numbers of fields: opentelemetry/proto/trace/v1/trace.proto of https://github.com/open-telemetry/opentelemetry-proto. */
function spansOf(body: Buffer): readonly ReceivedSpan[] {
  return messagesIn(readFields(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messagesIn(resourceSpans, 1).flatMap((message) => messagesIn(message, 1)));
    const spans = messagesIn(resourceSpans, 2).flatMap((scopeSpans) => messagesIn(scopeSpans, 2));
    return spans.map((span) => ({
      traceId: bytesIn(span, 1).toString('hex'),
      spanId: bytesIn(span, 2).toString('hex'),
      parentSpanId: bytesIn(span, 4).toString('hex'),
      name: bytesIn(span, 5).toString(),
      kind: kinds[Number(integerIn(span, 6))],
      startedAt: msOf(integerIn(span, 7)),
      endedAt: msOf(integerIn(span, 8)),
      attributes: attributesOf(messagesIn(span, 9)),
      hasFailed: messagesIn(span, 15).some((status) => integerIn(status, 3) === statusError),
      resource,
    }));
  });
}

const msOf = (nanoseconds: bigint) => Number(nanoseconds / 1000n) / 1000;

const attributesOf = (attributes: readonly Fields[]): Attributes =>
  Object.fromEntries(attributes.map((each) => [bytesIn(each, 1).toString(), messagesIn(each, 2).map(valueOf)[0]]));

/** Returns a text, a boolean or an integer; undefined for other types. */
function valueOf(value: Fields): string | boolean | number | undefined {
  if (value.has(1)) return bytesIn(value, 1).toString();
  if (value.has(2)) return integerIn(value, 2) === 1n;
  return value.has(3) ? Number(integerIn(value, 3)) : undefined;
}
