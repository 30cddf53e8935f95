import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { idempotencyKey as entryName, type IdempotencyEntry } from '../../../services/front/idempotency/keys.ts';
import { completeJobs, holdJobs, openHolder, startBackgroundFront } from './background.ts';
import { pages, sendBatch, untilBatchEnds, uuidsOf } from './batches.ts';
import { read, type TestFront } from './test-front.ts';

let front: TestFront;
let other: { readonly url: string };
beforeAll(async () => {
  front = await startBackgroundFront();
  other = { url: await front.addFront() };
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => completeJobs(front.renderer));

describe('a batch that is sent again with its Idempotency-Key', () => {
  test('is the same batch, on any front, also when it has ended, and adds no capture', async () => {
    const holder = await openHolder(front, { tokenQuota: 20, ratePerMinute: 1, burst: 1 });
    const idempotencyKey = randomUUID();
    const body = { requests: pages(20), options: { format: 'jpeg' } };
    const first = await sendBatch(front, holder.key, body, { idempotencyKey });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    await untilBatchEnds(front, holder.key, first.data.id);
    const again = await sendBatch(other, holder.key, body, { idempotencyKey });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(again.data).toMatchObject({ id: first.data.id, status: 'completed', tokensCharged: 20 });
    expect(uuidsOf(again.data)).toEqual(uuidsOf(first.data));
    expect(await holder.usage()).toEqual({ tokens: 20, captures: 20, reserved: 0, queued: 0 });
  });

  test('at the same time is accepted once', async () => {
    const holder = await openHolder(front, { ratePerMinute: 1, burst: 1 });
    const idempotencyKey = randomUUID();
    const send = (to: { readonly url: string }) =>
      sendBatch(to, holder.key, { requests: pages(100) }, { idempotencyKey });
    const answers = await Promise.all([send(front), send(other), send(front), send(other)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ data }) => data.id)).size).toBe(1);
    await untilBatchEnds(front, holder.key, answers[0]?.data.id ?? '');
    expect(await holder.usage()).toEqual({ tokens: 100, captures: 100, reserved: 0, queued: 0 });
  });

  test('with other requests, or as a capture, is refused', async () => {
    const holder = await openHolder(front);
    const idempotencyKey = randomUUID();
    await sendBatch(front, holder.key, { requests: pages(2) }, { idempotencyKey });
    for (const requests of [pages(1), pages(3), pages(2).toReversed()]) {
      const refused = await sendBatch(front, holder.key, { requests }, { idempotencyKey });
      expect(refused).toMatchObject({ status: 400, error: { code: 'VALIDATION_ERROR' } });
      expect(refused.error?.message).toContain('Idempotency-Key was sent with another body');
    }
    expect((await holder.capture()).status).toBe(200);
    const { status } = await read(
      await front.call('/capture', {
        method: 'POST',
        key: holder.key,
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify({ ...pages(1)[0], background: true }),
      }),
    );
    expect(status).toBe(400);
  });

  test('after a refusal is processed again', async () => {
    const holder = await openHolder(front, { maxQueued: 2 });
    const idempotencyKey = randomUUID();
    const release = holdJobs(front.renderer);
    const blocking = await sendBatch(front, holder.key, { requests: pages(1) });
    const send = () => sendBatch(front, holder.key, { requests: pages(2) }, { idempotencyKey });
    expect((await send()).error?.code).toBe('QUEUE_FULL');
    release();
    await untilBatchEnds(front, holder.key, blocking.data.id);
    const accepted = await send();
    expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([200, null]);
    await untilBatchEnds(front, holder.key, accepted.data.id);
  });

  test('takes over from a front that died before it had begun', async () => {
    const holder = await openHolder(front);
    const idempotencyKey = randomUUID();
    const body = { requests: pages(2) };
    // This request creates an entry of the key, from which the test takes the hash of the body.
    const first = await sendBatch(front, holder.key, body, { idempotencyKey });
    await untilBatchEnds(front, holder.key, first.data.id);
    const db = new Entries(front.nats.session, 'db');
    const name = entryName(holder.account, idempotencyKey);
    const entry = (await db.get<IdempotencyEntry>(name))?.value;
    const { now } = front.nats.session;
    await db.put(name, { ...entry, lease: { uuid: uuidV7(now()), until: now() + 1500 } });
    const second = await sendBatch(other, holder.key, body, { idempotencyKey });
    expect(second.status).toBe(200);
    expect(second.data.id).not.toBe(first.data.id);
    await untilBatchEnds(front, holder.key, second.data.id);
    expect((await holder.usage()).tokens).toBe(4);
  });
});
