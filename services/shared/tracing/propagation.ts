import type { IncomingHttpHeaders } from 'node:http';
import { type Context, context, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { headers, type MsgHdrs } from '@nats-io/nats-core';

/** Returns the context of a client's `traceparent`. An invalid header is ignored, and every header if tracing is off. */
export function contextOfRequest(received: IncomingHttpHeaders): Context {
  return propagation.extract(ROOT_CONTEXT, received);
}

/** Returns the options of a publish that carry the active span to the receiver; no headers if no span is active or tracing is off. */
export function traceHeaders(): { readonly headers?: MsgHdrs } {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  const fields = Object.entries(carrier);
  if (fields.length === 0) return {};
  const message = headers();
  for (const [name, value] of fields) message.set(name, value);
  return { headers: message };
}

/** Runs `work` as a part of the trace of a message. */
export function inTraceOf<T>(message: { readonly headers?: MsgHdrs | undefined }, work: () => T): T {
  return context.with(propagation.extract(ROOT_CONTEXT, message.headers, getter), work);
}

const getter = {
  keys: (carrier: MsgHdrs | undefined) => carrier?.keys() ?? [],
  get: (carrier: MsgHdrs | undefined, name: string) => carrier?.get(name) || undefined,
};
