import { gzipSync } from 'node:zlib';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { packExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { extractedName } from '@webcapture/shared/files/file-name.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { idempotencyKey } from '../../../services/front/idempotency/keys.ts';
import { openHolder, startBackgroundFront, type Holder, warningsTo } from './background.ts';
import type { TestFront } from './test-front.ts';

const first: Extracted = { text: 'What it says', links: [{ url: 'https://example.com/', text: 'Home' }] };
const second: Extracted = { text: 'What it says now', links: [] };
const body = { background: false, extract: ['text', 'links'] };

const lines: string[] = [];
let front: TestFront;
let holder: Holder;
beforeAll(async () => {
  front = await startBackgroundFront({ log: warningsTo(lines) });
  holder = await openHolder(front);
});
afterAll(() => front[Symbol.asyncDispose]());
afterEach(() => {
  front.renderer.pack = packExtracted;
  lines.length = 0;
});

const store = () => front.renderer.store;

async function captured(more: object = {}): Promise<Record<string, unknown> & { readonly uuid: string }> {
  front.renderer.extracted = first;
  const { status, body: answer } = await holder.capture({ ...body, ...more });
  expect(status).toBe(200);
  return answer.data as Record<string, unknown> & { readonly uuid: string };
}

test('POST /capture and GET /captures/{uuid} contain the extracted parts, lists and other answers do not', async () => {
  const data = await captured({ persistence: { enabled: true } });
  expect(data['extracted']).toEqual(first);
  expect((await holder.state(data.uuid))['extracted']).toEqual(first);
  const list = await front.call('/captures', { key: holder.key });
  expect(await list.text()).not.toContain('extracted');
  expect((await holder.refresh(data.uuid)).body.data).not.toHaveProperty('extracted');
});

test('GET /captures/{uuid} contains the extracted parts of a capture answered as a file or queued', async () => {
  front.renderer.extracted = first;
  const file = await front.capture({ url: 'https://example.com/', ...body, responseType: 'file' }, { key: holder.key });
  expect(file.headers.get('content-type')).toBe('image/png');
  await file.arrayBuffer();
  expect((await holder.state(file.headers.get('x-capture-uuid') ?? ''))['extracted']).toEqual(first);
  const queued = await holder.queue({ extract: ['text'] });
  expect(queued).not.toHaveProperty('extracted');
  expect((await holder.until(queued.uuid, 'completed'))['extracted']).toEqual(first);
});

test('captures without extract have no extracted parts', async () => {
  const data = await captured({ extract: undefined });
  expect(data).not.toHaveProperty('extracted');
  expect(await holder.state(data.uuid)).not.toHaveProperty('extracted');
  expect(await store().stat(extractedName((await holder.record(data.uuid)).fileName))).toBeNull();
});

test('a cached answer contains extracted parts for the same parts in any order; other parts are a miss', async () => {
  const cached = { url: `https://example.com/${randomUUID()}`, responseCache: { enabled: true } };
  const data = await captured(cached);
  const hit = await captured({ ...cached, extract: ['links', 'text'] });
  expect(hit).toMatchObject({ fromCache: true, uuid: data.uuid, extracted: first });
  expect(await captured({ ...cached, extract: ['text'] })).toMatchObject({ fromCache: false });
  expect(await captured({ ...cached, background: true })).toMatchObject({ fromCache: true, extracted: first });
});

test('data.extracted contains the fields, beside other parts and without them', async () => {
  const extractFields = { title: 'h1', items: { selector: 'li', list: true, fields: { name: 'b' } } };
  const fields = { title: 'Title', constructor: null, items: [{ name: null }, { name: 'Two' }, null, 'text'] };
  front.renderer.extracted = { fields, truncated: ['fields'] };
  const { body: answer } = await holder.capture({ background: false, extractFields });
  expect(answer.data).toMatchObject({ extracted: { fields, truncated: ['fields'] } });
  expect(front.renderer.jobs.at(-1)?.options).toMatchObject({ extractFields });
  front.renderer.extracted = { ...first, fields };
  const both = await holder.capture({ ...body, extractFields });
  expect((await holder.state((both.body.data as { uuid: string }).uuid))['extracted']).toEqual({ ...first, fields });
});

test('a replayed answer contains the extracted parts, which are not stored with the Idempotency-Key', async () => {
  front.renderer.extracted = first;
  const key = randomUUID();
  const ask = async () => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const request = { url: 'https://example.com/', ...body };
    const answer = await front.call('/capture', {
      key: holder.key,
      method: 'POST',
      headers,
      body: JSON.stringify(request),
    });
    return { isReplayed: answer.headers.get('idempotent-replayed') === 'true', body: await answer.json() };
  };
  const asked = await ask();
  expect(asked).toMatchObject({ isReplayed: false, body: { data: { extracted: first } } });
  expect(await ask()).toEqual({ ...asked, isReplayed: true });
  const kept = await new Entries(front.nats.session, 'db').get(idempotencyKey(holder.account, key));
  expect(kept?.value).toMatchObject({ answer: { data: { status: 'completed' } } });
  expect(JSON.stringify(kept?.value)).not.toContain('What it says');
});

test('a refresh replaces the extracted parts', async () => {
  const { uuid } = await captured({ persistence: { enabled: true } });
  front.renderer.extracted = second;
  await holder.refresh(uuid);
  await expect.poll(async () => (await holder.state(uuid))['extracted'], { timeout: 10_000 }).toEqual(second);
});

test('the extracted parts are removed when the capture is deleted', async () => {
  const { uuid } = await captured();
  const { fileName } = await holder.record(uuid);
  await holder.remove(uuid);
  expect(await store().stat(extractedName(fileName))).toBeNull();
  expect(await holder.state(uuid)).toMatchObject({ status: 'deleted', extracted: null });
  expect(lines).toEqual([]);
});

test('if the page cannot be read, the extracted parts are null and the capture completes', async () => {
  front.renderer.extracted = null;
  const { body: answer } = await holder.capture(body);
  expect(answer.data).toMatchObject({ status: 'completed', extracted: null });
  expect(lines).toEqual([]);
});

describe('extracted parts that cannot be read are null, and logged', () => {
  const bomb = () => gzipSync(`${JSON.stringify(first)}${' '.repeat(64 * 1024 * 1024)}`);
  const packed = (value: unknown) => () => gzipSync(JSON.stringify(value));
  test.each<[string, () => Buffer]>([
    ['is damaged', () => gzipSync(JSON.stringify(first)).subarray(0, 40)],
    ['is no JSON', () => gzipSync('<p>')],
    ['is of another form', packed({ text: ['a list'] })],
    ['has fields of another form', packed({ fields: { a: { b: { c: { d: 'too deep' } } } } })],
    ['has a list that is too long', packed({ fields: { a: Array(1001).fill('') } })],
    ['has fields that are too large', packed({ fields: { a: 'x'.repeat(1024 * 1024) } })],
    ['has a part that is too large', packed({ text: 'x'.repeat(1024 * 1024 + 1) })],
    ['is nothing', packed(null)],
    ['is a bomb', bomb],
  ])('if the object %s', async (_what, bytes) => {
    front.renderer.pack = async () => bytes();
    const data = await captured();
    expect(data).toMatchObject({ status: 'completed', extracted: null, tokenCost: 1 });
    expect(await holder.state(data.uuid)).toMatchObject({ status: 'completed', extracted: null });
    expect(lines.filter((line) => line.includes('extracted parts of a page could not be read'))).toHaveLength(2);
  });

  test('unknown fields are left out', async () => {
    const more = { ...first, links: [{ url: 'https://example.com/', text: 'Home', more: 1 }], more: 'x'.repeat(1000) };
    front.renderer.pack = async () => packed(more)();
    expect((await captured())['extracted']).toEqual(first);
  });

  test('if the object no longer exists', async () => {
    const { uuid } = await captured();
    await store().remove(extractedName((await holder.record(uuid)).fileName));
    expect(await holder.state(uuid)).toMatchObject({ status: 'completed', extracted: null });
    expect(lines.join()).toContain('the object of the extracted parts does not exist');
  });
});
