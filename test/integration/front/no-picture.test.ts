import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { extractedName } from '@webcapture/shared/files/file-name.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { fileStatus, openHolder, startBackgroundFront, type Holder, warningsTo } from './background.ts';
import { sendBatch, untilBatchEnds } from './batches.ts';
import type { TestFront } from './test-front.ts';

const first: Extracted = { text: 'What it says', fields: { title: 'Title' } };
const second: Extracted = { text: 'What it says now', truncated: ['text'] };
const body = { background: false, format: 'none', extract: ['text'], extractFields: { title: 'h1' } };

const lines: string[] = [];
let front: TestFront;
let holder: Holder;
beforeAll(async () => {
  front = await startBackgroundFront({ log: warningsTo(lines) });
  holder = await openHolder(front);
  front.renderer.extracted = first;
});
afterAll(() => front[Symbol.asyncDispose]());
afterEach(() => {
  stores((job) => StandInRenderer.prototype.fileOf.call(front.renderer, job));
  front.renderer.extracted = first;
  lines.length = 0;
});

/** Sets the file that the renderer stores. */
function stores(fileOf: StandInRenderer['fileOf']): void {
  front.renderer.fileOf = fileOf;
}

interface Data {
  readonly uuid: string;
  readonly fileUrl: string;
  readonly [name: string]: unknown;
}

async function captured(more: object = {}): Promise<Data> {
  const { status, body: answer } = await holder.capture({ ...body, ...more });
  expect(status).toBe(200);
  return answer.data as unknown as Data;
}

const nameOf = ({ fileUrl }: Data) => fileUrl.slice('https://cdn.test/'.length);

test('a capture without a picture has the extracted parts as data and as its only file', async () => {
  const data = await captured();
  expect(data).toMatchObject({
    status: 'completed',
    tokenCost: 1,
    fileSizeBytes: JSON.stringify(first).length,
    metadata: { format: 'none', mimeType: 'application/json', width: 1280, height: 720 },
    extracted: first,
  });
  expect((await holder.state(data.uuid))['extracted']).toEqual(first);

  const name = nameOf(data);
  expect(name).toMatch(/^[0-9a-f-]{36}-[0-9a-f]{32}\.json$/);
  expect(await front.renderer.store.stat(extractedName(name))).toBeNull();
  const file = await fetch(`${front.url}/files/${name}`);
  expect(await file.json()).toEqual(first);
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'application/json',
    'content-disposition': `inline; filename="capture-${data.uuid}.json"`,
    'x-content-type-options': 'nosniff',
  });
  const thumbnail = await front.call(`/captures/${data.uuid}/thumbnail`, { key: holder.key });
  expect([thumbnail.status, await thumbnail.text()]).toEqual([404, expect.stringContaining('its file is a JSON')]);
  expect(await (await front.call('/captures', { key: holder.key })).text()).not.toContain('What it says');
});

test('equal requests share an entry of the cache, whatever concerns only pictures', async () => {
  const cached = { url: `https://example.com/${randomUUID()}`, responseCache: { enabled: true } };
  const data = await captured(cached);
  const hit = await captured({ ...cached, quality: 5, imageTimeout: 0 });
  expect(hit).toMatchObject({ fromCache: true, uuid: data.uuid, tokenCost: 0, extracted: first });
  expect(await captured({ ...cached, format: 'png' })).toMatchObject({ fromCache: false });
});

test('a refresh replaces the file, and a deletion removes it', async () => {
  const data = await captured({ persistence: { enabled: true, history: 1 } });
  front.renderer.extracted = second;
  await holder.refresh(data.uuid);
  await expect.poll(async () => (await holder.state(data.uuid))['extracted'], { timeout: 10_000 }).toEqual(second);
  const { earlierFiles = [] } = await holder.record(data.uuid);
  expect(earlierFiles.map(({ name }) => name)).toEqual([expect.stringMatching(/\.json$/)]);
  await holder.remove(data.uuid);
  await until('the file to be removed', async () => (await fileStatus(front, data)) === 404);
  expect(await holder.state(data.uuid)).toMatchObject({ status: 'deleted', extracted: null });
  expect(lines).toEqual([]);
});

test('the archive of a batch has the JSON files', async () => {
  const requests = [{ url: 'https://example.com/', format: 'none', extract: ['text'] }];
  const { data } = await sendBatch(front, holder.key, { requests });
  const { captures } = await untilBatchEnds(front, holder.key, data.id);
  const zip = Buffer.from(await (await front.call(`/batches/${data.id}/zip`, { key: holder.key })).arrayBuffer());
  expect(zip.includes(`0000-${captures[0]?.uuid}.json`)).toBe(true);
  expect(zip.includes(JSON.stringify(first))).toBe(true);
});

test('a file that does not begin like JSON, or is too large, is not accepted', async () => {
  for (const file of [Buffer.from('<p>'), Buffer.alloc(13 * 1024 * 1024, '{')]) {
    stores(() => file);
    const { status, body: answer } = await holder.capture(body);
    expect([status, answer.error?.code]).toEqual([500, 'CAPTURE_FAILED']);
  }
});

test.each([
  ['is no JSON', '{"text":'],
  ['is of another form', '{"text":["a list"]}'],
  ['has no part', '{}'],
])('if the file %s, the extracted parts are null, and that is logged', async (_what, file) => {
  stores(() => Buffer.from(file));
  expect(await captured()).toMatchObject({ status: 'completed', extracted: null });
  expect(lines.join()).toContain('extracted parts of a page could not be read');
});
