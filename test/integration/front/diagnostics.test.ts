import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import pagexray from 'pagexray';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { packDiagnostics, type StoredDiagnostics } from '@webcapture/shared/files/diagnostics-file.ts';
import { diagnosticsExample } from '../../../services/front/api/capture-examples.ts';
import { completeJobs, openHolder, startBackgroundFront, type Holder } from './background.ts';
import type { TestFront } from './test-front.ts';

const { uuid: _uuid, refresh: _refresh, expiresAt: _expiresAt, ...diagnostics } = diagnosticsExample;
const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3]);
const ofFailure: StoredDiagnostics = { diagnostics, picture: jpeg.toString('base64') };
const ofSuccess: StoredDiagnostics = { diagnostics: { ...diagnostics, error: null, picture: null } };

let front: TestFront;
let holder: Holder;
beforeAll(async () => {
  front = await startBackgroundFront();
  holder = await openHolder(front);
});
afterAll(() => front[Symbol.asyncDispose]());
afterEach(() => {
  completeJobs(front.renderer);
  front.renderer.diagnostics = null;
  front.renderer.packNoted = packDiagnostics;
});

const store = () => front.renderer.store;
const get = (uuid: string, path = '', key = holder.key) => front.call(`/captures/${uuid}/diagnostics${path}`, { key });

/** Lets an interactive capture fail with the given diagnostics; returns its uuid. */
async function failed(stored: StoredDiagnostics | null = ofFailure, body: object = {}): Promise<string> {
  front.renderer.behavior = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'it fails');
  front.renderer.diagnostics = stored;
  const answer = await front.capture({ url: 'https://example.com/', ...body }, { key: holder.key });
  expect(answer.status).toBe(500);
  await answer.arrayBuffer();
  return answer.headers.get('x-capture-uuid') ?? '';
}

test('a failed capture has diagnostics and a last picture under its uuid, for its account only', async () => {
  const uuid = await failed();
  const answer = await get(uuid);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const { data } = (await answer.json()) as { data: { expiresAt: string } };
  expect(data).toMatchObject({ uuid, refresh: 0, ...diagnostics });
  expect(Math.abs(Date.parse(data.expiresAt) - Date.now() - 86_400_000)).toBeLessThan(60_000);
  const picture = await get(uuid, '/picture');
  expect(picture.headers.get('content-type')).toBe('image/jpeg');
  expect(picture.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  expect(Buffer.from(await picture.arrayBuffer())).toEqual(jpeg);
  const other = await openHolder(front);
  expect((await get(uuid, '', other.key)).status).toBe(404);
  expect((await get(uuid, '/picture', other.key)).status).toBe(404);
  // The name of the file does not reveal the name of its diagnostics.
  const { diagnostics: file, fileName } = await holder.record(uuid);
  expect(file?.name.slice(fileName.length)).toMatch(/^\.diagnostics-[0-9a-f]{32}$/);
  expect((await front.call(`/files/${file?.name}`)).status).toBe(404);
});

test('a HAR parser reads the requests', async () => {
  const answer = await get(await failed(), '?format=har');
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="capture-[0-9a-f-]{36}\.har"$/);
  const [page] = pagexray.convert(await answer.json(), { includeAssets: true });
  expect(page).toMatchObject({
    url: 'https://example.com/data.json',
    totalDomains: 1,
    transferSize: 41,
    responseCodes: { 500: 1 },
    assets: [{ url: 'https://example.com/data.json', type: 'json', status: 500, timings: { wait: 96, receive: 2 } }],
  });
  expect((await get(await failed(), '?format=xml')).status).toBe(400);
});

test('a completed capture has diagnostics if requested, and its own cache entry', async () => {
  front.renderer.diagnostics = ofSuccess;
  const cached = { url: `https://example.com/${randomUUID()}`, background: false, responseCache: { enabled: true } };
  const capture = async (body: object) => (await holder.capture({ ...cached, ...body })).body.data ?? {};
  const without = await capture({});
  expect((await get(String(without['uuid']))).status).toBe(404);
  const asked = await capture({ diagnostics: true });
  expect(asked).toMatchObject({ fromCache: false });
  const answer = (await (await get(String(asked['uuid']))).json()) as { data: object };
  expect(answer.data).toMatchObject({ error: null, expiresAt: (asked['metadata'] as { expiresAt: string }).expiresAt });
  expect((await get(String(asked['uuid']), '/picture')).status).toBe(404);
  expect(await capture({ diagnostics: true })).toMatchObject({ fromCache: true, uuid: asked['uuid'] });
  expect(await capture({ diagnostics: false })).toMatchObject({ fromCache: true, uuid: without['uuid'] });
});

test('diagnostics count as stored bytes until the capture is deleted, and are removed with it', async () => {
  const before = await holder.ledger();
  const uuid = await failed();
  const { diagnostics: file } = await holder.record(uuid);
  const stored = await store().stat(file?.name ?? '');
  expect((await holder.ledger()).storedBytes - before.storedBytes).toBe(stored?.size);
  expect((await holder.remove(uuid)).status).toBe(200);
  expect((await holder.ledger()).storedBytes).toBe(before.storedBytes);
  expect(await store().stat(file?.name ?? '')).toBeNull();
  expect((await get(uuid)).status).toBe(404);
  expect(await holder.ledger()).toEqual(await holder.sumOfRecords());
});

test('if the account has no room for diagnostics, the failure is stored without them', async () => {
  const small = await openHolder(front, { maxStoredBytes: 1 });
  front.renderer.behavior = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'it fails');
  front.renderer.diagnostics = ofFailure;
  const { uuid } = await small.queue();
  await small.until(uuid, 'failed');
  expect(await small.record(uuid)).not.toHaveProperty('diagnostics');
});

test('a failed refresh replaces diagnostics, and a completed one without diagnostics removes them', async () => {
  const { uuid } = await holder.queue({ persistence: { enabled: true } });
  await holder.until(uuid, 'completed');
  front.renderer.diagnostics = ofFailure;
  const refreshed = async (state: string) => {
    await holder.refresh(uuid);
    await expect.poll(async () => (await holder.state(uuid))['refresh'], { timeout: 10_000 }).toMatchObject({ state });
  };
  front.renderer.behavior = (job, renderer) => renderer.fail(job, 'CAPTURE_FAILED', 'it fails');
  await refreshed('failed');
  const first = (await holder.record(uuid)).diagnostics?.name ?? '';
  await refreshed('failed');
  expect(((await (await get(uuid)).json()) as { data: object }).data).toMatchObject({ refresh: 2 });
  await expect.poll(() => store().stat(first)).toBeNull();
  completeJobs(front.renderer);
  await refreshed('completed');
  expect((await get(uuid)).status).toBe(404);
  expect(await holder.ledger()).toEqual(await holder.sumOfRecords());
});

describe('stored diagnostics in an invalid form are not returned', () => {
  const packed = (value: unknown) => async () => gzipSync(JSON.stringify(value));
  test.each<[string, () => Promise<Buffer>]>([
    [
      'a list that is too long',
      packed({ diagnostics: { ...diagnostics, console: Array(201).fill(diagnostics.console[0]) } }),
    ],
    ['no diagnostics', packed(null)],
    ['a picture that is none', packed({ diagnostics, picture: Buffer.from('<svg>').toString('base64') })],
    ['a bomb', async () => gzipSync(' '.repeat(8 * 1024 * 1024))],
  ])('%s', async (_what, pack) => {
    front.renderer.packNoted = pack;
    const answer = await get(await failed());
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: { code: 'STORAGE_FAILED' } });
  });
});
