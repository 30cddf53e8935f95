import type { Diagnostics, RequestEntry } from '@webcapture/shared/api/diagnostics.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';

const pageId = 'page_1';

/** Returns diagnostics as an HTTP Archive (HAR 1.2). It contains no headers and bodies, because they are not stored. */
export function harOf({ startedAt, pageUrl, requests, durationMs }: Diagnostics): object {
  const start = Date.parse(startedAt);
  const dateAt = (ms: number) => new Date(start + ms).toISOString();
  return {
    log: {
      version: '1.2',
      creator: { name: 'webcapture', version },
      pages: [
        { id: pageId, startedDateTime: startedAt, title: pageUrl, pageTimings: { onContentLoad: -1, onLoad: -1 } },
      ],
      entries: requests.map((request) => entryOf(request, dateAt(request.startMs), durationMs - request.startMs)),
    },
  };
}

/** @param untilEndMs time from the start of the request to the end of the rendering; used if the request did not end */
function entryOf(request: RequestEntry, startedDateTime: string, untilEndMs: number) {
  const { url, method, status, error, mimeType, bytes, waitMs, durationMs } = request;
  const time = durationMs ?? Math.max(0, untilEndMs);
  const wait = Math.min(waitMs ?? time, time);
  const reason = error ?? (durationMs === null ? 'the request had not ended' : undefined);
  const unknown = { httpVersion: 'unknown', cookies: [], headers: [], headersSize: -1 };
  return {
    pageref: pageId,
    startedDateTime,
    time,
    request: { ...unknown, method, url, queryString: queryOf(url), bodySize: -1 },
    response: {
      ...unknown,
      status: status ?? 0,
      statusText: '',
      content: { size: bytes ?? 0, mimeType: mimeType ?? 'x-unknown' },
      redirectURL: '',
      bodySize: bytes ?? -1,
      // Chromium writes this field for failed requests.
      ...(reason === undefined ? {} : { _error: reason }),
    },
    cache: {},
    timings: { send: 0, wait, receive: time - wait },
    _resourceType: request.type,
  };
}

const queryOf = (url: string) => [...(URL.parse(url)?.searchParams ?? [])].map(([name, value]) => ({ name, value }));
