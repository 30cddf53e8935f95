import { once as onceEmitted } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import { inject } from 'vitest';
import { startProcess } from '../../deploy/local/process.ts';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** Time limit of the set-up. It includes building the collector if it is missing. */
export const collectorSetUpMs = 30 * 60_000;

/** Attributes by name, as OTLP's JSON has their values: integers are strings. */
type Attributes = Readonly<Record<string, string | boolean | number>>;

/** A span as the collector received it. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root of a trace. */
  readonly parentSpanId: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly hasFailed: boolean;
  readonly attributes: Attributes;
  /** Attributes of the process. */
  readonly resource: Attributes;
}

/** A real OpenTelemetry Collector. */
export interface TestCollector extends AsyncDisposable {
  /** Address in the format of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  /** All spans that the collector has received, each once: an exporter may send a span again when it gets no answer. */
  readonly spans: () => readonly CollectedSpan[];
  /** The received spans as text, to search for what must not be there. */
  readonly text: () => string;
}

/** Starts a collector that receives OTLP with protobuf, and passes it to this process as JSON. It ends with this process. */
export async function startCollector(): Promise<TestCollector> {
  const { path } = await ensureTool('otelcol', { log: (line) => process.stdout.write(`${line}\n`) });
  const received: string[] = [];
  const sink = createServer((request, response) => {
    buffer(request).then(
      (body) => {
        received.push(body.toString());
        response.setHeader('content-type', 'application/json').end('{}');
      },
      () => response.destroy(),
    );
  }).listen(0, '127.0.0.1');
  await onceEmitted(sink, 'listening');
  const port = await freePort();
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: {
      otlp_http: {
        endpoint: `http://127.0.0.1:${(sink.address() as AddressInfo).port}`,
        encoding: 'json',
        compression: 'none',
      },
    },
    service: {
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlp_http'] } },
      telemetry: { metrics: { level: 'none' } },
    },
  };
  const file = join(await mkdtemp(join(inject('tempFolder'), 'collector-')), 'config.yaml');
  // JSON is valid YAML.
  await writeFile(file, JSON.stringify(config));
  const lines: string[] = [];
  const collector = await startProcess({
    name: 'otelcol',
    command: path,
    args: [`--config=file:${file}`],
    graceOnLossMs: 0,
    onLine: (line) => lines.push(line),
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = async () => {
    await collector.stop({ graceMs: 0 });
    sink.close();
    sink.closeAllConnections();
  };
  try {
    const send = () =>
      fetch(`${endpoint}/v1/traces`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    await until('the collector to accept spans', async () => (await send()).ok, { deadlineMs: 60_000 });
  } catch (error) {
    await stop();
    throw new Error(`the collector did not start. Its output:\n${lines.slice(-10).join('\n')}`, { cause: error });
  }
  return {
    endpoint,
    spans: () => {
      const spans = received.flatMap((body) => spansOf(JSON.parse(body) as Export));
      return [...new Map(spans.map((span) => [span.spanId, span])).values()];
    },
    text: () => received.join('\n'),
    [Symbol.asyncDispose]: stop,
  };
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, string | boolean | number>>;
}

/** The parts of an ExportTraceServiceRequest, in JSON, that tests read. */
interface Export {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number };
}

const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const failed = 2;

const attributesOf = (attributes: readonly Attribute[] = []): Attributes =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? '']));

const msOf = (nanoseconds: string) => Number(BigInt(nanoseconds) / 1000n) / 1000;

function spansOf({ resourceSpans = [] }: Export): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '', kind, startTimeUnixNano, endTimeUnixNano, ...span }) => ({
        name,
        traceId,
        spanId,
        parentSpanId,
        kind: kinds[kind] ?? 'internal',
        startedAt: msOf(startTimeUnixNano),
        endedAt: msOf(endTimeUnixNano),
        hasFailed: span.status?.code === failed,
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource.attributes),
      })),
    ),
  );
}
