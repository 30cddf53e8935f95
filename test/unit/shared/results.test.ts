import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { decodeResult, encodeResult } from '@webcapture/shared/state/results.ts';

const record = { uuid: 'u', status: 'completed', url: 'https://exämple.com/\n' } as CaptureRecord;

test('a result comes back as it was, bytes and all', () => {
  const bytes = randomBytes(5000);
  const { record: back, bytes: file } = decodeResult(encodeResult(record, bytes, 1_000_000));
  expect(back).toEqual(record);
  expect(file?.equals(bytes)).toBe(true);
});

test('bytes that do not fit stay behind, and so they do when nobody wants them', () => {
  expect(decodeResult(encodeResult(record, randomBytes(5000), 5000))).toEqual({ record, bytes: null });
  expect(decodeResult(encodeResult(record, null, 5000))).toEqual({ record, bytes: null });
});
