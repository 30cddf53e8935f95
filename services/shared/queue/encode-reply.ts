import type { JobResult } from './results.ts';

/**
 * Encodes the result as one line of JSON, followed by the bytes. The bytes are omitted if the message would exceed `limit`, the server's
 * max_payload.
 */
export function encodeReply(result: JobResult, bytes: Buffer | null, limit: number): Buffer {
  const line = Buffer.from(`${JSON.stringify(result)}\n`);
  return bytes === null || line.length + bytes.length > limit ? line : Buffer.concat([line, bytes]);
}
