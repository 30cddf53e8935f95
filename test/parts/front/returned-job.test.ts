import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHolder, startBackgroundStand, type Holder } from './background.ts';
import type { Stand } from './stand.ts';

let stand: Stand;
let holder: Holder;
beforeAll(async () => {
  stand = await startBackgroundStand();
  holder = await openHolder(stand);
});
afterAll(() => stand[Symbol.asyncDispose]());

// The very first result of a fleet: its number is that of the first attempt, too.
test('a background job that a renderer gives back is queued again, each time, and charged once', async () => {
  let returned = 0;
  stand.renderer.behaviour = async (job, renderer) => {
    if (returned++ < 2) await renderer.publish(job, { kind: 'returned', reason: 'shutting_down' });
    else await renderer.complete(job);
  };
  const { uuid } = await holder.queue();
  await holder.until(uuid, 'completed');
  expect(stand.renderer.jobs.map((job) => job.uuid)).toEqual([uuid, uuid, uuid]);
  expect(await holder.usage()).toMatchObject({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
});
