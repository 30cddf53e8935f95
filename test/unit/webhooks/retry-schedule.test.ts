import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { attemptDueAt, attemptOffsets, nextAttemptAt } from '../../../services/controller/jobs/webhooks/deliver.ts';

const hour = 3_600_000;

test('there are eight attempts with growing intervals, the first immediately, the last a day later', () => {
  expect(attemptOffsets).toHaveLength(8);
  expect(attemptOffsets[0]).toBe(0);
  expect(attemptOffsets.at(-1)).toBe(24 * hour);
  const distances = attemptOffsets.slice(1).map((offset, index) => offset - (attemptOffsets[index] ?? 0));
  expect(distances).toEqual(distances.toSorted((a, b) => a - b));
  expect(new Set(distances).size).toBe(distances.length);
});

test('attempts keep to the schedule, independent of their duration', () => {
  const firstAt = 1_700_000_000_000;
  let now = firstAt;
  const times = [firstAt];
  for (let attempts = 1; ; attempts++) {
    // An attempt that times out after 10 s.
    const next = nextAttemptAt(attempts, firstAt, now + 10_000);
    if (next === null) break;
    times.push(next);
    now = next;
  }
  // The second attempt is slightly late, because the first was in progress when the second was due.
  expect(times.map((time) => time - firstAt)).toEqual([0, 15_000, ...attemptOffsets.slice(2)]);
});

test('late attempts are not made all at once', () => {
  const late = 5 * hour;
  // Three attempts are overdue.
  const next = nextAttemptAt(3, 0, late) ?? 0;
  expect(next).toBe(late + 270_000);
  const after = nextAttemptAt(4, 0, next) ?? 0;
  expect(after).toBe(next + 1_500_000);
  expect(nextAttemptAt(6, 0, after)).toBe(12 * hour);
});

test('there is no attempt after the eighth', () => {
  expect(nextAttemptAt(7, 0, 0)).toBe(24 * hour);
  expect(nextAttemptAt(8, 0, 0)).toBeNull();
  expect(nextAttemptAt(9, 0, 0)).toBeNull();
});

test('the attempts are made at the times in the API guide', async () => {
  const schedule = [0, 10_000, 60_000, 600_000, 3_600_000, 14_400_000, 43_200_000, 86_400_000];
  const firstAt = 1_700_000_000_000;
  const due = schedule.map((_, index) => attemptDueAt({ attempt: index + 1, firstAt }) - firstAt);
  expect(due).toEqual(schedule);
  // An attempt that fails immediately is followed by the next one on schedule.
  const next = schedule.map((offset, index) => nextAttemptAt(index + 1, firstAt, firstAt + offset));
  expect(next.map((at) => (at === null ? null : at - firstAt))).toEqual([...schedule.slice(1), null]);
  const guide = await readFile(new URL('../../../docs/api.md', import.meta.url), 'utf8');
  expect(guide.replaceAll(/\s+/g, ' ')).toContain(
    'attempted eight times: immediately, then 10 s, 1 min, 10 min, 1 h, 4 h, 12 h and 24 h after the first attempt.',
  );
});
