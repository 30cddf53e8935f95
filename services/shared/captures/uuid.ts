import { randomUUID } from 'node:crypto';

const uuidV7Form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns the Unix milliseconds of a UUIDv7 (RFC 9562) in lower case; null for anything else. */
export function timeOfUuid(uuid: string): number | null {
  if (!uuidV7Form.test(uuid)) return null;
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** Returns the lowest UUIDv7 of a millisecond: all uuids of earlier milliseconds sort before it. */
export function firstUuidOf(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Creates a UUIDv7 (RFC 9562) of a millisecond (Unix time): its time and 74 random bits. Node's own function uses the local clock. */
export function uuidV7(now: number): string {
  const time = Math.floor(now).toString(16).padStart(12, '0');
  // In a random UUID, version and variant are at the same positions.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
