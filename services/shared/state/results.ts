import type { CaptureRecord } from '../contract/capture-record.ts';

/** What a renderer announces on a job's result subject: the record, and the file's bytes when they were wanted and fit. */
export interface ResultAnnouncement {
  readonly record: CaptureRecord;
  readonly bytes: Buffer | null;
}

const newline = 0x0a;

/** The record as one line of JSON, then the bytes. `limit` is the server's max_payload; what is larger goes without. */
export function encodeResult(record: CaptureRecord, bytes: Buffer | null, limit: number): Buffer {
  const line = Buffer.from(`${JSON.stringify(record)}\n`);
  return bytes === null || line.length + bytes.length > limit ? line : Buffer.concat([line, bytes]);
}

export function decodeResult(data: Uint8Array): ResultAnnouncement {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = buffer.indexOf(newline);
  const bytes = buffer.subarray(end + 1);
  return {
    record: JSON.parse(buffer.toString('utf8', 0, end)) as CaptureRecord,
    bytes: bytes.length === 0 ? null : bytes,
  };
}
