import { errorOfResponse, NetworkError, NotFoundError } from './errors.ts';
import type { ServerEvent } from './event-stream.ts';
import type { Capture, CapturedFile, CaptureProgress, CaptureResult, EndedCapture, PendingCapture } from './types.ts';

/** Reads the events of a capture until its result. */
export async function resultOfEvents(
  events: AsyncIterable<ServerEvent>,
  onProgress: (progress: CaptureProgress) => void,
): Promise<CaptureResult | PendingCapture> {
  for await (const { event, data } of events) {
    if (event === 'progress') onProgress(JSON.parse(data) as CaptureProgress);
    if (event === 'result') return (JSON.parse(data) as { data: CaptureResult | PendingCapture }).data;
  }
  throw new NetworkError('NETWORK_ERROR', 'The connection ended before the capture ended.');
}

/** Whether a capture, and its refresh, has ended. */
export function hasEnded(state: Capture): state is EndedCapture {
  if (state.status === 'queued' || state.status === 'rendering') return false;
  const refresh = 'refresh' in state ? state.refresh?.state : undefined;
  return state.status !== 'completed' || (refresh !== 'queued' && refresh !== 'rendering');
}

/** Returns the file of a response, whose bytes have not been read. */
export function fileOf({ headers, body }: Response): CapturedFile {
  const size = headers.get('content-length');
  return {
    contentType: headers.get('content-type') ?? 'application/octet-stream',
    size: size === null ? null : Number(size),
    stream: body ?? new ReadableStream({ start: (controller) => controller.close() }),
  };
}

/** Returns the status in a response, which may have an error code: an outage is a valid response. */
export function statusOf<T extends object>(body: T | undefined, response: Response): T {
  if (typeof body !== 'object' || !('lastCheckedAt' in body)) throw errorOfResponse(response, body);
  return body;
}

/** Parses JSON, or returns other text unchanged. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns null if the capture exists but lacks the requested part. */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (isNothing(error)) return null;
    throw error;
  }
}

/** Returns the bytes of a response; null as in {@link orNull}. */
export function blobOrNull({
  data,
  error,
  response,
}: {
  readonly data?: Blob;
  readonly error?: unknown;
  readonly response: Response;
}): Blob | null {
  if (data !== undefined) return data;
  const failure = errorOfResponse(response, error);
  if (isNothing(failure)) return null;
  throw failure;
}

const isNothing = (failure: unknown) => failure instanceof NotFoundError && failure.code === 'NOT_FOUND';
