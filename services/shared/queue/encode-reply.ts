import type { JobResult } from './results.ts';

/** The result as one line of JSON, then the bytes. `limit` is the server's max_payload; what is larger goes without. */
export function encodeReply(result: JobResult, bytes: Buffer | null, limit: number): Buffer {
  const line = Buffer.from(`${JSON.stringify(result)}\n`);
  return bytes === null || line.length + bytes.length > limit ? line : Buffer.concat([line, bytes]);
}
