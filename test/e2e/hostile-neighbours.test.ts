// @module-tag long
import { expect, test } from 'vitest';
import { hostileNeighbours } from '../harness/hostile-neighbours.ts';
import { until } from '../harness/until.ts';
import { useFleet } from '../harness/use.ts';

const fleet = useFleet({ slots: 2 });

test('a page that takes too much memory fails by name, and nobody else pays for it', async () => {
  const { api, usageCheck } = fleet();
  const before = await usageCheck.usage();
  const html = hostileNeighbours.find(({ name }) => name === 'memory')?.html;
  // It would be captured as it stands before it has taken that much.
  const hostile = api.refused({ html, delay: 15_000 });
  for (let count = 0; count < 3; count += 1) await api.captured({ html: `<p>${count}` });
  expect(await hostile).toMatchObject({
    status: 500,
    code: 'CAPTURE_FAILED',
    message: 'The page took more memory than a page may, 768 MiB.',
  });
  const after = await until('all to be settled', async () => {
    const usage = await usageCheck.usage();
    return usage.reserved === 0 ? usage : undefined;
  });
  expect([after.tokens - before.tokens, after.captures - before.captures]).toEqual([3, 3]);
  const completed = (await usageCheck.records()).filter(({ status }) => status === 'completed');
  expect(completed.reduce((tokens, { tokenCost }) => tokens + tokenCost, 0)).toBe(after.tokens);
});
