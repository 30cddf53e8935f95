import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { captureView } from '@webcapture/shared/captures/view.ts';
import { signEvent } from '../../../services/controller/jobs/webhooks/event.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

const secrets = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`);
const cdnUrl = 'https://cdn.test';
const now = Date.now();
const occurredAt = now - 5000;

const completed = newRecord({ status: 'completed', outcome: newOutcome(), endedAt: occurredAt });
const build = (changes: { record?: typeof completed; revision?: number; now?: number } = {}) =>
  signEvent(
    changes.record ?? completed,
    { event: 'capture.completed', revision: changes.revision ?? 0, occurredAt },
    { cdnUrl, now: changes.now ?? now, secrets },
  );

test('an event has its type, its time and the view of its capture', () => {
  const { body, headers } = build();
  expect(JSON.parse(body)).toEqual({
    type: 'capture.completed',
    timestamp: new Date(occurredAt).toISOString(),
    data: captureView(completed, { cdnUrl, now }),
  });
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-timestamp': String(Math.floor(now / 1000)),
  });
  expect(headers['user-agent']).toMatch(/^webcapture\/\d+\.\d+\.\d+/);
});

test('the event of a failed capture has the error', () => {
  const failure = { code: 'NAVIGATION_FAILED', message: 'The name has no address.', cause: 'page' } as const;
  const record = newRecord({ status: 'failed', failure });
  const { body } = signEvent(record, { event: 'capture.failed', revision: 0, occurredAt }, { cdnUrl, now, secrets });
  expect(JSON.parse(body)).toMatchObject({ type: 'capture.failed', data: { status: 'failed', error: failure } });
});

describe('the id of an event', () => {
  test('is the same in every attempt, and differs for the next revision', () => {
    const id = (event: ReturnType<typeof build>) => event.headers['webhook-id'];
    expect(id(build({ now: now + 86_400_000 }))).toBe(id(build()));
    expect(id(build({ revision: 1 }))).not.toBe(id(build()));
    expect(id(build({ record: { ...completed, uuid: newRecord().uuid } }))).not.toBe(id(build()));
  });

  test('has no full stop, which separates it in the signed text', () => {
    expect(build().headers['webhook-id']).toMatch(/^msg_[0-9a-f-]+_0$/);
  });
});

describe('the signatures of an event', () => {
  test('are verified by the library of Standard Webhooks with each of the secrets only', () => {
    const { headers, body } = build();
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    const other = new Webhook(`whsec_${Buffer.alloc(32, 3).toString('base64')}`);
    expect(() => other.verify(body, headers)).toThrow('No matching signature');
    expect(() => new Webhook(secrets[0] ?? '').verify(`${body} `, headers)).toThrow('No matching signature');
  });

  test('are HMAC-SHA256 of id, time and body', () => {
    const { headers, body } = build();
    const key = Buffer.from((secrets[0] ?? '').slice('whsec_'.length), 'base64');
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', key).update(signed).digest('base64');
    expect(headers['webhook-signature']?.split(' ')[0]).toBe(`v1,${signature}`);
  });

  test('contain the time of the attempt, so that a late attempt is not taken for a replay', () => {
    const tomorrow = now + 86_400_000;
    expect(build({ now: tomorrow }).headers['webhook-signature']).not.toBe(build().headers['webhook-signature']);
    expect(build({ now: tomorrow }).headers['webhook-timestamp']).toBe(String(Math.floor(tomorrow / 1000)));
  });
});
