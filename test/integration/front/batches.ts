import type { Batch } from '@webcapture/shared/api/batch.ts';
import { until } from '../../harness/until.ts';
import { type Envelope, read } from './test-front.ts';

export interface BatchAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly error: Envelope['error'];
  readonly data: Batch;
}

/** Sends a body of POST /captures/batch. */
export async function sendBatch(
  front: { readonly url: string },
  key: string | null,
  body: unknown,
  { idempotencyKey, signal }: { readonly idempotencyKey?: string; readonly signal?: AbortSignal } = {},
): Promise<BatchAnswer> {
  const response = await fetch(`${front.url}/captures/batch`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: signal ?? AbortSignal.timeout(150_000),
  });
  return answerOf(response);
}

export async function readBatch(front: { readonly url: string }, key: string, id: string): Promise<BatchAnswer> {
  return answerOf(await fetch(`${front.url}/batches/${id}`, { headers: { authorization: `Bearer ${key}` } }));
}

async function answerOf(response: Response): Promise<BatchAnswer> {
  const { status, headers, body } = await read(response);
  return { status, headers, error: body.error, data: body.data as unknown as Batch };
}

export const untilBatchEnds = (front: { readonly url: string }, key: string, id: string): Promise<Batch> =>
  until(
    `batch ${id} to end`,
    async () => {
      const { data } = await readBatch(front, key, id);
      return data.status === 'completed' && data;
    },
    { intervalMs: 100 },
  );

/** Returns requests for distinct pages. */
export const pages = (count: number, options: object = {}) =>
  Array.from({ length: count }, (_, index) => ({ url: `https://example.com/${index}`, ...options }));

export const uuidsOf = ({ captures }: Batch) => captures.map(({ uuid }) => uuid);
