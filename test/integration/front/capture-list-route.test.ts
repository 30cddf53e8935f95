import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { firstUuidOf } from '@webcapture/shared/captures/uuid.ts';
import { AnswerCheck } from '../../harness/openapi.ts';
import { newOutcome, newRecord, withoutAnswerMs } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { read, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let check: AnswerCheck;
beforeAll(async () => {
  front = await startTestFront();
  check = await AnswerCheck.load(`${front.url}/openapi.json`);
});
afterAll(() => front[Symbol.asyncDispose]());

const dayMs = 86_400_000;

/** Returns the data of a successful list, which must match the OpenAPI document. */
async function list(key: string, query = ''): Promise<{ items: readonly CaptureState[]; nextCursor: string | null }> {
  const { status, headers, body } = await read(await front.call(`/captures${query}`, { key }));
  expect([status, headers.get('cache-control')], JSON.stringify(body)).toEqual([200, 'no-store']);
  expect(check.problems({ path: '/captures', method: 'GET', status, mediaType: 'application/json', body })).toEqual([]);
  return body.data as unknown as { items: readonly CaptureState[]; nextCursor: string | null };
}

const uuidsOf = ({ items }: { items: readonly CaptureState[] }) => items.map(({ uuid }) => uuid);

/** Returns a key, and captures of its account with the given ages in days, newest first. */
async function filledAccount(days: readonly number[], changes: (index: number) => Partial<CaptureRecord> = () => ({})) {
  const account = `account-${randomUUID()}`;
  const key = await front.makeKey({ account, createdAt: Date.now() - 200 * dayMs });
  const captures = new Captures(front.nats.session);
  const records = days.map((ago, index) => {
    const acceptedAt = Date.now() - ago * dayMs;
    const uuid = firstUuidOf(acceptedAt).slice(0, 13) + randomUUIDv7().slice(13);
    return newRecord({ uuid, account, acceptedAt, ...changes(index) });
  });
  for (const record of records) await captures.create(record);
  return { key, uuids: records.map(({ uuid }) => uuid) };
}

test('the list contains captures in every state, newest first', async () => {
  const key = await front.makeKey();
  expect(await list(key)).toEqual({ items: [], nextCursor: null });
  const first = await read(await front.capture({ url: 'https://example.com/1' }, { key }));
  front.renderer.behavior = (job, renderer) => renderer.fail(job, 'NAVIGATION_FAILED', 'No such page.');
  await front.capture({ url: 'https://example.com/2' }, { key });
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
  const third = await read(await front.capture({ url: 'https://example.com/3' }, { key }));

  const { items, nextCursor } = await list(key);
  expect(nextCursor).toBeNull();
  expect(items.map((item) => [item.status, item.metadata.url])).toEqual([
    ['completed', 'https://example.com/3'],
    ['failed', 'https://example.com/2'],
    ['completed', 'https://example.com/1'],
  ]);
  expect([items[0], items[2]]).toEqual(withoutAnswerMs([third.body.data, first.body.data]));
  const single = await read(await front.call(`/captures/${items[1]?.uuid}`, { key }));
  expect(single.body.data).toEqual(items[1]);
});

test('the list returns captures of months in pages, and no capture of another account', async () => {
  const days = [0, 0.5, 1, 1.01, 2, 3, 40, 41, 80, 150];
  const { key, uuids } = await filledAccount(days);
  const other = await filledAccount(days);
  const seen: string[] = [];
  for (let cursor = ''; ;) {
    const part = await list(key, `?limit=4${cursor}`);
    expect(part.items.length).toBeLessThanOrEqual(4);
    seen.push(...uuidsOf(part));
    if (part.nextCursor === null) break;
    cursor = `&cursor=${part.nextCursor}`;
  }
  expect(seen).toEqual(uuids);
  expect(uuidsOf(await list(other.key))).toEqual(other.uuids);
  // The request uses a cursor of another account, which makes no difference.
  expect(uuidsOf(await list(other.key, `?cursor=${uuids[5]}`))).toEqual(other.uuids.slice(6));
});

test('the list filters by the status that is shown', async () => {
  const outcome = newOutcome();
  const states: readonly Partial<CaptureRecord>[] = [
    { status: 'queued' },
    { status: 'completed', outcome, expiresAt: Date.now() + dayMs },
    { status: 'completed', outcome, expiresAt: Date.now() - 1 },
    { status: 'failed', failure: { code: 'NAVIGATION_FAILED', message: 'Gone.', cause: 'page' } },
    { status: 'expired', outcome },
    { status: 'deleted', outcome },
  ];
  const { key, uuids } = await filledAccount([1, 2, 3, 4, 5, 6], (index) => states[index] ?? {});
  const found = async (status: string) => {
    const part = await list(key, `?status=${status}`);
    expect(part.items.every((item) => item.status === status)).toBe(true);
    return uuidsOf(part).map((uuid) => uuids.indexOf(uuid));
  };
  expect(await found('queued')).toEqual([0]);
  expect(await found('rendering')).toEqual([]);
  expect(await found('completed')).toEqual([1]);
  expect(await found('expired')).toEqual([2, 4]);
  expect(await found('failed')).toEqual([3]);
  expect(await found('deleted')).toEqual([5]);
});

describe('the list refuses', () => {
  test.each([
    ['?limit=0', 'limit must be an integer from 1 to 100, not 0'],
    ['?limit=101', 'limit must be an integer from 1 to 100, not 101'],
    ['?limit=x', 'limit must be an integer from 1 to 100, not "x"'],
    ['?cursor=abc', 'cursor must be a string like "0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77", not "abc"'],
    [`?cursor=${'6f0d9f2e-94d3-4f5e-8f3a-9f6f1d2c3b4a'}`, 'cursor must be a string like'],
    ['?cursor=', 'cursor must be a string like'],
    ['?status=done', 'status must be one of queued, rendering, completed, failed, expired, deleted, not "done"'],
    ['?status=failed&status=queued', 'status must be one of'],
    ['?limits=5', 'limits is not a field of the request; did you mean limit?'],
    ['?state=failed', 'state is not a field of the request; did you mean status?'],
  ])('the query %s', async (query, message) => {
    const { status, body } = await read(await front.call(`/captures${query}`));
    expect([status, body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.error?.message).toContain(message);
  });

  test('a missing key, and a key without the scope, before an invalid query', async () => {
    const codeOf = async (key: string | null) => {
      const { status, body } = await read(await front.call('/captures?limit=0', { key }));
      return [status, body.error?.code];
    };
    expect(await codeOf(null)).toEqual([401, 'UNAUTHORIZED']);
    expect(await codeOf(await front.makeKey({ scopes: ['capture', 'manage'] }))).toEqual([403, 'FORBIDDEN']);
  });
});

test('while NATS is down the list fails within seconds, and works again afterwards', { tags: 'long' }, async () => {
  const { key, uuids } = await filledAccount([0, 1]);
  // The key is cached for a short time, so the list itself fails.
  await list(key);
  await front.nats.kill();
  const start = performance.now();
  const { status, body } = await read(await front.call('/captures', { key }));
  // Key and list are retried for 3 s each.
  expect(performance.now() - start).toBeLessThan(8000);
  expect([status, body.error?.code]).toEqual([500, 'INTERNAL_ERROR']);
  expect(body.error?.message).toMatch(/cannot be (listed|checked) right now. Send the request again/);
  await front.nats.start();
  const answer = await until('the list to work again', async () => {
    const response = await front.call('/captures', { key });
    return response.ok && read(response);
  });
  expect(uuidsOf(answer.body.data as never)).toEqual(uuids);
});
