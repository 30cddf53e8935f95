import { expect, test } from 'vitest';
import { firstUuidOf, timeOfUuid, uuidV7 } from '@webcapture/shared/captures/uuid.ts';

test('a UUID contains the time that it was created with', () => {
  for (const time of [0, 1, 1_700_000_000_000, 2 ** 48 - 1]) {
    expect(timeOfUuid(uuidV7(time))).toBe(time);
    expect(uuidV7(time) > firstUuidOf(time)).toBe(true);
  }
  expect(timeOfUuid(uuidV7(1_700_000_000_000.7))).toBe(1_700_000_000_000);
});

test('1,000 UUIDs of one millisecond differ, and sort between those of the milliseconds before and after', () => {
  const uuids = new Set(Array.from({ length: 1000 }, () => uuidV7(1_700_000_000_000)));
  expect(uuids.size).toBe(1000);
  for (const uuid of uuids) {
    expect(uuid > uuidV7(1_699_999_999_999)).toBe(true);
    expect(uuid < uuidV7(1_700_000_000_001)).toBe(true);
  }
});
