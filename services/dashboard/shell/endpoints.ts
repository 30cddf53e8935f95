import { type ErrorCode, WebcaptureError } from '@webcapture/client';
import type { AdminCapture, AdminCapturesQuery, DeadLetter, Overview } from '@webcapture/shared/api/admin.ts';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { Delivery } from '@webcapture/shared/api/delivery.ts';
import type { UsageHistoryView } from '@webcapture/shared/api/usage-history.ts';
import { client, type Kind, serviceUrl, sessions } from './session.ts';

export const getUsageHistory = (days: number, signal: AbortSignal) =>
  data<UsageHistoryView>('key', 'GET', '/usage/history', { params: { query: { days } }, signal });

export const getCaptureHistory = (uuid: string, signal: AbortSignal) =>
  data<CaptureHistory>('key', 'GET', '/captures/{uuid}/history', { params: { path: { uuid } }, signal });

export const redeliver = (uuid: string) =>
  data<unknown>('key', 'POST', '/captures/{uuid}/webhook/redeliver', { params: { path: { uuid } } });

export const getDeliveries = (signal: AbortSignal) =>
  data<{ deliveries: readonly Delivery[] }>('key', 'GET', '/webhooks/deliveries', {
    params: { query: { limit: 100 } },
    signal,
  });

export const sendTestEvent = (url: string) => data<{ id: string }>('key', 'POST', '/webhooks/test', { body: { url } });

export const getOverview = (signal: AbortSignal) => data<Overview>('admin', 'GET', '/admin/overview', { signal });

export const getAdminCaptures = (sort: AdminCapturesQuery['sort'], signal: AbortSignal) =>
  data<{ captures: readonly AdminCapture[] }>('admin', 'GET', '/admin/captures', {
    params: { query: { sort, limit: 20 } },
    signal,
  });

export const getDeadLetters = (signal: AbortSignal) =>
  data<{ deadLetters: readonly DeadLetter[] }>('admin', 'GET', '/admin/dead-letters', { signal });

/** The bytes of an event stream. Rejects with a WebcaptureError. */
export async function openEvents(kind: Kind, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const path = kind === 'admin' ? '/admin/events' : '/events';
  return (await answer(kind, 'GET', path, { signal, parseAs: 'stream' })) as ReadableStream<Uint8Array>;
}

/** A thumbnail of a capture; null when there can be none. */
export async function getThumbnail(uuid: string, width: number, signal: AbortSignal): Promise<Blob | null> {
  const headers = { authorization: `Bearer ${sessions.key.peek()?.secret ?? ''}` };
  const url = `${serviceUrl}/captures/${encodeURIComponent(uuid)}/thumbnail?width=${width}`;
  for (let attempt = 0; ; attempt++) {
    // A refresh replaces the picture: what the browser has is asked about by its ETag.
    const response = await fetch(url, { headers, cache: 'no-cache', signal });
    if (response.ok) return response.blob();
    if (response.status === 404) return null;
    if (response.status !== 429 || attempt === 2) throw errorOf(response, await response.json().catch(() => null));
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get('retry-after') ?? 1)));
  }
}

interface Call {
  readonly body?: unknown;
  readonly params?: unknown;
  readonly signal?: AbortSignal | null;
  readonly parseAs?: 'stream';
}

async function data<T>(kind: Kind, method: 'GET' | 'POST', path: string, call: Call): Promise<T> {
  const envelope = (await answer(kind, method, path, call)) as { data: T };
  return envelope.data;
}

function errorOf({ status, headers }: Response, body: unknown): WebcaptureError {
  const { error } = (body ?? {}) as { error?: { code?: ErrorCode; message?: string } };
  const seconds = Number(headers.get('retry-after'));
  const details = {
    status,
    requestId: headers.get('x-request-id'),
    retryAfterMs: seconds > 0 ? seconds * 1000 : null,
  };
  if (error?.code !== undefined) return new WebcaptureError(error.code, error.message ?? '', details);
  const message = `A proxy answered with the status ${status} in place of the service.`;
  return new WebcaptureError('UNEXPECTED_RESPONSE', message, { ...details, retryable: status >= 500 });
}

/** Endpoints that the types of the client do not have yet. */
async function answer(kind: Kind, method: 'GET' | 'POST', path: string, call: Call): Promise<unknown> {
  const raw = client(kind).raw as unknown as Record<
    'GET' | 'POST',
    (path: string, call: Call) => Promise<{ data?: unknown; error?: unknown; response: Response }>
  >;
  const { data: found, error, response } = await raw[method](path, call);
  if (found === undefined) throw errorOf(response, error);
  return found;
}
