import { randomUUID } from 'node:crypto';

const uuidV7Form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The Unix milliseconds in a UUIDv7 (RFC 9562) in lower case; null for anything else. */
export function timeOfUuid(uuid: string): number | null {
  if (!uuidV7Form.test(uuid)) return null;
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** The lowest UUIDv7 of that millisecond: no uuid of an earlier one sorts after it. */
export function firstUuidOf(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** A new UUIDv7 (RFC 9562) of that millisecond (Unix time): its time, then 74 random bits. Node's own takes the local clock. */
export function uuidV7(now: number): string {
  const time = Math.floor(now).toString(16).padStart(12, '0');
  // A random UUID has its version and its variant where this one has them.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
