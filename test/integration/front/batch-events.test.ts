import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { completeJobs, type Holder, holdJobs, openHolder, startBackgroundFront } from './background.ts';
import { pages, sendBatch, untilBatchEnds, uuidsOf } from './batches.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
let holder: Holder;
beforeAll(async () => {
  front = await startBackgroundFront();
  holder = await openHolder(front);
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => completeJobs(front.renderer));

interface Counts {
  readonly completed: number;
}
interface Event {
  readonly event: string;
  readonly data: { readonly uuid?: string; readonly index?: number; readonly status: string; readonly counts: Counts };
}

const follow = (id: string, key = holder.key) => front.call(`/batches/${id}/events`, { key });

const eventsOf = (text: string): Event[] =>
  [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, event = '', data = '']) => ({
    event,
    data: JSON.parse(data) as Event['data'],
  }));

test('a stream reports each change of a capture of the batch, and ends with it', async () => {
  const release = holdJobs(front.renderer);
  const { data } = await sendBatch(front, holder.key, { requests: pages(4) });
  const response = await follow(data.id);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  const other = await sendBatch(front, holder.key, { requests: pages(1) });
  release();
  const events = eventsOf(await response.text());
  const total = { total: 4, failed: 0, expired: 0, deleted: 0 };
  expect(events[0]).toMatchObject({ event: 'batch', data: { id: data.id, status: 'processing', counts: total } });
  expect(events.at(-1)).toEqual({
    event: 'batch',
    data: { id: data.id, status: 'completed', counts: { ...total, queued: 0, rendering: 0, completed: 4 } },
  });
  const changes = events.slice(1, -1).map(({ event, data: change }) => ({ event, ...change }));
  expect(new Set(changes.map(({ event }) => event))).toEqual(new Set(['capture']));
  const completed = changes.filter(({ status }) => status === 'completed');
  expect(new Set(completed.map(({ uuid }) => uuid))).toEqual(new Set(uuidsOf(data)));
  expect(completed.map(({ counts }) => counts.completed)).toEqual([1, 2, 3, 4]);
  for (const { uuid, index } of completed) expect(uuid).toBe(uuidsOf(data)[index ?? -1]);
  await untilBatchEnds(front, holder.key, other.data.id);
});

test('a batch that has ended is reported once', async () => {
  const { data } = await sendBatch(front, holder.key, { requests: pages(1) });
  await untilBatchEnds(front, holder.key, data.id);
  const events = eventsOf(await (await follow(data.id)).text());
  expect(events).toMatchObject([{ event: 'batch', data: { status: 'completed', counts: { completed: 1 } } }]);
});

test('a batch of another account cannot be followed', async () => {
  const { data } = await sendBatch(front, holder.key, { requests: pages(1) });
  const other = await openHolder(front);
  const response = await follow(data.id, other.key);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
});
