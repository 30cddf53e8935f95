import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHolder, startBackgroundFront, type Holder } from './background.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
let holder: Holder;
beforeAll(async () => {
  front = await startBackgroundFront();
  holder = await openHolder(front);
});
afterAll(() => front[Symbol.asyncDispose]());

// The very first result of a fleet: its number is that of the first attempt, too.
test('a background job that a renderer gives back is queued again, each time, and charged once', async () => {
  let returned = 0;
  front.renderer.behaviour = async (job, renderer) => {
    if (returned++ < 2) await renderer.publish(job, { kind: 'returned', reason: 'shutting_down' });
    else await renderer.complete(job);
  };
  const { uuid } = await holder.queue();
  await holder.until(uuid, 'completed');
  expect(front.renderer.jobs.map((job) => job.uuid)).toEqual([uuid, uuid, uuid]);
  expect(await holder.usage()).toMatchObject({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
});
