import { randomUUID } from 'node:crypto';

const uuidV7Form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns the time of a UUIDv7 (RFC 9562) in lower case, in Unix milliseconds. Returns null for anything else. */
export function timeOfUuid(uuid: string): number | null {
  if (!uuidV7Form.test(uuid)) return null;
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** Returns the lowest UUIDv7 of a millisecond. All uuids of earlier milliseconds precede it. */
export function firstUuidOf(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/**
 * Creates a UUIDv7 (RFC 9562) from a time in Unix milliseconds and 74 random bits. Node's own function is not used, because it uses the
 * local clock.
 */
export function uuidV7(now: number): string {
  const time = Math.floor(now).toString(16).padStart(12, '0');
  // The version and the variant are taken from a random UUID, which has them at the same positions.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
