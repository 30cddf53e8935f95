import { describe, expect, test } from 'vitest';
import {
  type AddedBytes,
  byteLimitMessage,
  embeddedBytes,
  exceededLimit,
} from '@webcapture/shared/accounts/byte-limits.ts';
import type { StoredBytes } from '@webcapture/shared/captures/capture-record.ts';
import { noBytes } from '@webcapture/shared/captures/usage.ts';

const limits = { maxQueuedBytes: 100, maxStoredBytes: 1000, maxPersistedBytes: 500 };
const embedded = { maxEmbeddedBytes: 1200, holdsFiles: true };
const used = (bytes: Partial<StoredBytes>): StoredBytes => ({ ...noBytes, ...bytes });

describe('the limit that a capture exceeds', () => {
  test.each<[string, Partial<StoredBytes>, AddedBytes, string | undefined]>([
    ['queued HTML up to the limit', { queuedBytes: 60 }, { queuedBytes: 40 }, undefined],
    ['queued HTML beyond the limit', { queuedBytes: 60 }, { queuedBytes: 41 }, 'maxQueuedBytes'],
    ['no HTML, although queued HTML is over the limit', { queuedBytes: 160 }, { storedBytes: 1 }, undefined],
    ['a file up to the limit', { storedBytes: 990 }, { storedBytes: 10 }, undefined],
    ['a file beyond the limit', { storedBytes: 990 }, { storedBytes: 11 }, 'maxStoredBytes'],
    [
      'a persisted file, although expiring files are over the limit',
      { storedBytes: 2000 },
      { persistedBytes: 10 },
      undefined,
    ],
    ['a persisted file beyond the limit', { persistedBytes: 495 }, { persistedBytes: 6 }, 'maxPersistedBytes'],
    [
      'a persisted file, with the HTML of other captures',
      { persistedBytes: 95, keptHtmlBytes: 400 },
      { persistedBytes: 6 },
      'maxPersistedBytes',
    ],
    [
      'a persisted file with its HTML',
      { persistedBytes: 450 },
      { persistedBytes: 30, keptHtmlBytes: 30 },
      'maxPersistedBytes',
    ],
    ['a refresh with a smaller file', { storedBytes: 2000 }, { storedBytes: -5 }, undefined],
  ])('is found for %s', (_what, before, added, name) => {
    expect(exceededLimit(used(before), added, limits)?.name).toBe(name);
  });

  const all = { queuedBytes: 100, storedBytes: 800, persistedBytes: 200, keptHtmlBytes: 99 };

  test('is the share of the embedded store for files and HTML together', () => {
    expect(exceededLimit(all, { storedBytes: 1 }, { ...limits, embedded })).toBeNull();
    expect(exceededLimit(all, { storedBytes: 2 }, { ...limits, embedded })).toEqual({
      name: 'maxEmbeddedBytes',
      used: 1199,
      max: 1200,
      added: 2,
    });
    // When HTML leaves the queue, there is room for its file.
    expect(exceededLimit(all, { storedBytes: 42, queuedBytes: -41 }, { ...limits, embedded })).toBeNull();
  });

  test('is the share of the embedded store for HTML only, if files are in a bucket', () => {
    const bucket = { maxEmbeddedBytes: 150, holdsFiles: false };
    expect([embeddedBytes(all, bucket), embeddedBytes(all, embedded)]).toEqual([199, 1199]);
    expect(exceededLimit(all, { storedBytes: 2 }, { ...limits, embedded: bucket })).toBeNull();
    const html = { persistedBytes: 1, keptHtmlBytes: 1 };
    expect(exceededLimit(all, html, { ...limits, embedded: bucket })?.name).toBe('maxEmbeddedBytes');
  });
});

describe('the message of an exceeded limit', () => {
  test('names the limit, the used bytes, and what to do', () => {
    const exceeded = exceededLimit(used({ queuedBytes: 90 }), { queuedBytes: 20 }, limits);
    expect(exceeded && byteLimitMessage(exceeded)).toBe(
      'The account uses 90 of 100 bytes of HTML of background captures that have not ended (maxQueuedBytes). This capture adds 20 bytes. Wait until queued captures have ended, delete some, or ask the operator for a higher limit.',
    );
  });

  test('has no size for a file that is not yet rendered', () => {
    const added = { storedBytes: 1, isFileUnknown: true };
    const exceeded = exceededLimit(used({ storedBytes: 1000 }), added, limits);
    expect(exceeded && byteLimitMessage(exceeded)).toBe(
      'The account uses 1000 of 1000 bytes of stored files (maxStoredBytes). Delete captures, wait until files expire, use a shorter cdnTtl, or ask the operator for a higher limit.',
    );
  });
});
