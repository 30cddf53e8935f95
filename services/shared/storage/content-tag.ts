import { createHash } from 'node:crypto';

/** The strong validator of these bytes, the same in every store. */
export function contentTag(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}
