import { expect, test } from 'vitest';
import { olderThan } from '@webcapture/shared/nats/connect.ts';

test.each([
  ['2.14.0', '2.14.0', false],
  ['2.15.2', '2.14.0', false],
  ['3.0.0', '2.14.0', false],
  ['2.14.0-RC.1', '2.14.0', false],
  ['2.13.9', '2.14.0', true],
  ['2.9.25', '2.14.0', true],
  ['1.99.99', '2.14.0', true],
  ['unknown', '2.14.0', true],
])('whether %s is older than %s: %s', (version, wanted, older) => {
  expect(olderThan(version, wanted)).toBe(older);
});
