import { describe, expect, test } from 'vitest';
import { cancelQueued, complete, fail, noteDelivery, redeliver } from '@webcapture/shared/captures/transitions.ts';
import { background, completed, failure, later, newRefresh, now, outcome } from './transition-records.ts';

describe('the webhook in the record', () => {
  const webhook = { url: 'https://hooks.example/', state: 'waiting', attempts: 0 } as const;
  test.each([
    ['completed', complete(0, outcome, later), { webhook }, 'capture.completed', 0],
    ['failed', fail(0, failure), { webhook }, 'capture.failed', 0],
  ] as const)('gets an event when the capture is %s', (_name, transition, changes, event, revision) => {
    expect(transition(background(changes), now)?.webhook).toEqual({
      url: webhook.url,
      state: 'pending',
      event,
      revision,
      occurredAt: now,
      attempts: 0,
    });
  });

  test('gets an event of a completed refresh in place of an earlier event, and none of a failed refresh', () => {
    const delivered = { ...webhook, state: 'delivered', event: 'capture.completed', revision: 0, attempts: 3 } as const;
    const record = completed({ webhook: delivered, refresh: newRefresh() });
    expect(complete(2, outcome, later)(record, now)?.webhook).toMatchObject({
      state: 'pending',
      event: 'capture.refreshed',
      revision: 2,
      attempts: 0,
    });
    expect(fail(2, failure)(record, now)?.webhook).toEqual(delivered);
  });

  test('is absent if the capture has none', () => {
    expect(complete(0, outcome, later)(background(), now)).not.toHaveProperty('webhook');
  });

  test('gets the result of a delivery of its event, but not of an earlier event or in a deleted capture', () => {
    const pending = { ...webhook, state: 'pending', event: 'capture.refreshed', revision: 2 } as const;
    const delivery = { ...pending, state: 'delivered', attempts: 1, lastStatus: 204 } as const;
    const note = noteDelivery(2, delivery);
    expect(note(completed({ webhook: pending }), now)?.webhook).toEqual(delivery);
    expect(note(completed({ webhook: { ...pending, revision: 3 } }), now)).toBeNull();
    expect(note(completed({ webhook: pending, status: 'deleted' }), now)).toBeNull();
    expect(note(completed(), now)).toBeNull();
  });

  test('keeps the attempt before a redelivery in its history, and the state of the redelivery', () => {
    const first = { ...webhook, state: 'failed', event: 'capture.completed', revision: 0, attempts: 8 } as const;
    const attempt = { event: 'capture.completed', revision: 0, attempt: 8, at: now, state: 'failed' } as const;
    const again = { ...first, state: 'pending', redelivery: 1, attempts: 0 } as const;
    expect(noteDelivery(0, first, attempt)(completed({ webhook: again }), now)).toMatchObject({
      webhook: again,
      deliveryHistory: [attempt],
    });
    const failed = { ...again, state: 'failed', attempts: 8 } as const;
    expect(noteDelivery(0, failed)(completed({ webhook: again }), now)?.webhook).toEqual(failed);
  });

  test('has each attempt in its history, the newest first', () => {
    const pending = { ...webhook, state: 'pending', event: 'capture.refreshed', revision: 2 } as const;
    const attempt = (number: number) =>
      ({ event: 'capture.refreshed', revision: 2, attempt: number, at: now + number, state: 'retrying' }) as const;
    const first = noteDelivery(2, pending, attempt(1))(completed({ webhook: pending }), now);
    const second = noteDelivery(2, pending, attempt(2))(first ?? completed(), now);
    expect(second?.deliveryHistory).toEqual([attempt(2), attempt(1)]);
    expect(noteDelivery(2, pending)(second ?? completed(), now)?.deliveryHistory).toHaveLength(2);
    expect(noteDelivery(2, pending)(completed({ webhook: pending }), now)).not.toHaveProperty('deliveryHistory');
  });

  test('starts again at the first attempt for a redelivery, if there is an event and the capture is not deleted', () => {
    const delivered = {
      ...webhook,
      state: 'delivered',
      event: 'capture.refreshed',
      revision: 2,
      occurredAt: now,
    } as const;
    const again = { url: webhook.url, state: 'pending', event: 'capture.refreshed', revision: 2, occurredAt: now };
    const record = completed({ webhook: { ...delivered, attempts: 3, lastStatus: 500 } });
    const redelivered = redeliver(record, now);
    expect(redelivered?.webhook).toEqual({ ...again, redelivery: 1, attempts: 0 });
    expect(redeliver(redelivered ?? record, now)?.webhook).toEqual({ ...again, redelivery: 2, attempts: 0 });
    expect(redeliver({ ...record, status: 'deleted' }, now)).toBeNull();
    expect(redeliver(completed({ webhook }), now)).toBeNull();
    expect(redeliver(completed(), now)).toBeNull();
  });
});

test('a cancelled capture sends no event, because its client never learned that it was accepted', () => {
  const webhook = { url: 'https://hooks.example/', state: 'waiting', attempts: 0 } as const;
  const cancelled = { ...failure, cancelled: true } as const;
  for (const transition of [fail(0, cancelled), cancelQueued(0, cancelled)]) {
    const ended = transition(background({ webhook }), now);
    expect(ended).toMatchObject({ status: 'failed', failure: { cancelled: true }, webhook });
    expect(ended?.webhook).toEqual(webhook);
  }
  expect(cancelQueued(0, failure)(background({ webhook }), now)?.webhook).toMatchObject({ state: 'pending' });
});
