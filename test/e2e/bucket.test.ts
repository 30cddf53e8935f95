// @module-tag long
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../harness/bucket.ts';
import { googleError, startFaultProxy, type FaultProxy, type SeenRequest } from '../harness/fault-proxy.ts';
import { startFleet, type Fleet } from '../harness/fleet.ts';
import { until } from '../harness/until.ts';

let bucket: TestBucket;
let proxy: FaultProxy;
let fleet: Fleet;
beforeAll(async () => {
  bucket = await startTestBucket();
  proxy = await startFaultProxy(bucket.endpoint);
  const env = {
    WEBCAPTURE_GCS_BUCKET: bucket.bucket,
    WEBCAPTURE_GCS_PREFIX: 'captures/',
    WEBCAPTURE_GCS_ENDPOINT: proxy.url,
  };
  const ground = { tools: inject('tools'), tempFolder: inject('tempFolder') };
  fleet = await startFleet(ground, { store: 'embedded', env });
}, bucketSetUpMs);
afterEach(() => proxy.heal());
afterAll(async () => {
  await fleet?.stop();
  await proxy?.[Symbol.asyncDispose]();
  await bucket?.[Symbol.asyncDispose]();
});

const html = '<h1>kept in a bucket</h1>';
const uploads = ({ method }: SeenRequest) => method === 'POST';

const nameOf = (fileUrl: string) => `captures/${fileUrl.split('/').at(-1)}`;
const isThere = async (fileUrl: string) => (await bucket.objects()).some(({ name }) => name === nameOf(fileUrl));

test('a capture is an object below the prefix, served by the front, and removed when the capture is deleted', async () => {
  const data = await fleet.api.captured({ html });
  expect(await isThere(data.fileUrl)).toBe(true);
  const file = await fetch(data.fileUrl);
  expect(file.status).toBe(200);
  expect((await file.arrayBuffer()).byteLength).toBe(data.fileSizeBytes);
  expect((await fetch(data.fileUrl, { headers: { range: 'bytes=1-3' } })).status).toBe(206);
  const headers = { authorization: `Bearer ${fleet.key}` };
  expect((await fleet.api.request(`/captures/${data.uuid}`, { method: 'DELETE', headers })).status).toBe(200);
  expect(await isThere(data.fileUrl)).toBe(false);
  expect((await fetch(data.fileUrl)).status).toBe(404);
});

test('the extracted parts are a second object, created, replaced and deleted with the first', async () => {
  const html =
    '<title>Kept</title><h1></h1><p hidden>not seen</p><script>document.querySelector("h1").append(Math.random())</script>';
  const data = await fleet.api.captured({ html, extract: ['text', 'metadata'], persistence: { enabled: true } });
  const isRight = { text: expect.stringMatching(/^[\d.e-]+$/), metadata: { title: 'Kept' } };
  expect(data.extracted).toMatchObject(isRight);
  const objects = async () =>
    (await bucket.objects())
      .map(({ name }) => name)
      .filter((name) => name.includes(data.uuid))
      .toSorted();
  expect(await objects()).toEqual([nameOf(data.fileUrl), `${nameOf(data.fileUrl)}.extracted`]);
  expect((await fetch(`${data.fileUrl}.extracted`)).status).toBe(404);
  const headers = { authorization: `Bearer ${fleet.key}` };
  const state = async () => (await (await fleet.api.get(`/captures/${data.uuid}`)).json()) as { data: CaptureResult };
  await fleet.api.request(`/captures/${data.uuid}/refresh`, { method: 'POST', headers });
  await until('the refresh', async () => (await state()).data.refresh?.state === 'completed');
  const { extracted } = (await state()).data;
  expect(extracted).toMatchObject(isRight);
  expect(extracted?.text).not.toBe(data.extracted?.text);
  await fleet.api.request(`/captures/${data.uuid}`, { method: 'DELETE', headers });
  expect(await objects()).toEqual([]);
  expect((await state()).data).toMatchObject({ status: 'deleted', extracted: null });
});

test('the diagnostics of a failed capture are the only object, and are removed when the capture is deleted', async () => {
  const objects = async (uuid: string) =>
    (await bucket.objects()).map(({ name }) => name).filter((name) => name.includes(uuid));
  const broken = `<h1>No chart</h1><script>console.error('the chart has no data')</script>`;
  const failed = await fleet.api.capture({ html: broken, selector: '#chart' });
  expect(failed.status).not.toBe(200);
  const uuid = failed.headers.get('x-capture-uuid') ?? '';
  expect(await objects(uuid)).toEqual([expect.stringMatching(/^captures\/[^/]+\.diagnostics-[0-9a-f]{32}$/)]);
  const answer = (await (await fleet.api.get(`/captures/${uuid}/diagnostics`)).json()) as { data: object };
  expect(JSON.stringify(answer.data)).toContain('the chart has no data');
  const picture = await fleet.api.get(`/captures/${uuid}/diagnostics/picture`);
  expect(picture.headers.get('content-type')).toBe('image/jpeg');
  await fleet.api.call('DELETE', `/captures/${uuid}`);
  expect(await objects(uuid)).toEqual([]);

  const asked = await fleet.api.captured({ html: broken, diagnostics: true });
  expect((await objects(asked.uuid)).toSorted()).toEqual([
    nameOf(asked.fileUrl),
    expect.stringMatching(/\.diagnostics-[0-9a-f]{32}$/),
  ]);
  expect((await fleet.api.get(`/captures/${asked.uuid}/diagnostics`)).status).toBe(200);
});

test('a capture succeeds after a short outage of the bucket, or a broken upload', async () => {
  const before = await fleet.usageCheck.usage();
  proxy.next(uploads, googleError(503, 'backendError', 'Backend Error'), { kind: 'lose the answer' });
  const data = await fleet.api.captured({ html });
  expect((await fetch(data.fileUrl)).status).toBe(200);
  expect((await fleet.usageCheck.usage()).tokens).toBe(before.tokens + 1);
  expect(await fleet.renderer('us-east').metric('webcapture_store_retries_total')).toBeGreaterThanOrEqual(2);
});

test('a revoked permission fails captures without charge, and the log names the permission', async () => {
  const before = await fleet.usageCheck.usage();
  proxy.always(uploads, googleError(403, 'forbidden', 'wc@p does not have storage.objects.create access'));
  expect(await fleet.api.refused({ html })).toMatchObject({ status: 500, code: 'STORAGE_FAILED' });
  expect(await fleet.usageCheck.usage()).toEqual(before);
  // The response may arrive before the log line with the reason.
  const told = /"403 forbidden|\(403 forbidden\).*storage\.objects\.create/;
  await until('the log line', () => told.test(fleet.renderer('us-east').logs()));
});

describe('a service that starts', () => {
  test('waits for an unavailable bucket, and logs it', async () => {
    const [front] = fleet.fronts;
    await front?.kill();
    proxy.always(() => true, googleError(503, 'backendError', 'Backend Error'));
    await front?.launch();
    // An attempt that times out logs the same reason in more words.
    const verdict = await until('the front to wait', async () => {
      const probe = await front?.probe('/readyz');
      return probe?.text.endsWith('Backend Error') === true && probe;
    });
    expect(verdict.status).toBe(503);
    expect(verdict.text).toContain(`waiting for the bucket ${bucket.bucket}: `);
    proxy.heal();
    await front?.ready();
  });

  test('exits with the name of the missing permission', async () => {
    const renderer = fleet.renderer('us-east');
    await renderer.kill();
    proxy.always(uploads, googleError(403, 'forbidden', 'wc@p does not have storage.objects.create access'));
    await renderer.launch();
    expect(await until('the renderer to exit', () => renderer.exit)).toMatchObject({ code: 1 });
    expect(renderer.logs()).toContain(`the right storage.objects.create on the bucket ${bucket.bucket} is missing`);
  });
});
