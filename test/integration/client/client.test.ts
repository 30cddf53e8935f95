import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AuthenticationError,
  type BatchChange,
  type Capture,
  type CaptureEvent,
  CaptureFailedError,
  type CaptureProgress,
  ConflictError,
  type LinkOptions,
  PermissionError,
  signLink,
  ValidationError,
  verifyWebhook,
  Webcapture,
  WebhookVerificationError,
} from '@webcapture/client';
import { type SignedEvent, signEvent } from '../../../services/controller/jobs/webhooks/event.ts';
import { makePdf } from '../../harness/make-pdf.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { adminToken, openAccount } from '../front/accounts.ts';
import { presetKey, startTestFront, type TestFront } from '../front/test-front.ts';

let front: TestFront;
let client: Webcapture;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken });
  client = new Webcapture({ url: `${front.url}/`, apiKey: presetKey });
});
afterAll(() => front[Symbol.asyncDispose]());

const page = { url: 'https://example.com/' };
const unknownUuid = '00000000-0000-4000-8000-000000000000';

test('a capture returns its data, or its file', async () => {
  const result = await client.capture({ ...page, format: 'jpeg' });
  expect(result).toMatchObject({ status: 'completed', metadata: { format: 'jpeg' } });
  const file = await client.captureFile(page);
  const bytes = await new Response(file.stream).arrayBuffer();
  expect(file).toMatchObject({ contentType: 'image/png', size: bytes.byteLength });
  expect(await client.getCapture(file.uuid)).toMatchObject({ uuid: file.uuid, status: 'completed' });
});

test('a background capture is waited for', async () => {
  const { uuid } = await client.capture({ ...page, background: true });
  const seen: Capture['status'][] = [];
  const ended = await client.waitFor(uuid, { onState: ({ status }) => seen.push(status) });
  expect(ended).toMatchObject({ uuid, status: 'completed' });
  expect(seen.at(-1)).toBe('completed');
});

test('a signed link returns the file without a key, with the options of the capture', async () => {
  const { id: keyId } = await client.createKey({ name: 'links', scopes: ['capture'] });
  const { secret } = await client.rotateSigningSecret(keyId);
  const expires = Math.floor(Date.now() / 1000) + 600;
  const options = {
    url: "https://example.com/?q=it's (a) café!*",
    format: 'webp' as const,
    viewport: { width: 800, height: 600 },
    hide: ['.b', "[title='a b']"],
    block: { ads: true },
  } satisfies LinkOptions;
  const link = await signLink(`${front.url}/`, { ...options, quality: undefined as never }, { keyId, secret, expires });
  const response = await fetch(link);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/webp']);
  const { url, ...rest } = options;
  expect(front.renderer.jobs.at(-1)?.options).toMatchObject(rest);
  const { items } = await client.listCapturesPage({ limit: 1 });
  expect(items[0]?.metadata.url).toBe(url);
  const changed = await fetch(link.replace('width=800', 'width=801'));
  expect(changed.status).toBe(401);
});

test('errors have a class and a code', async () => {
  const invalid = await client.capture({ url: 'nowhere' }).catch((error: unknown) => error);
  expect(invalid).toBeInstanceOf(ValidationError);
  expect(invalid).toMatchObject({ code: 'VALIDATION_ERROR', status: 400, retryable: false });
  expect((invalid as ValidationError).requestId).toBeTypeOf('string');
  const unknown = new Webcapture({ url: front.url, apiKey: 'unknown' });
  await expect(unknown.getUsage()).rejects.toBeInstanceOf(AuthenticationError);
});

test('lists are iterated page by page', async () => {
  const key = await front.makeKey();
  const other = new Webcapture({ url: front.url, apiKey: key });
  const made = [];
  for (let i = 0; i < 3; i++) made.unshift((await other.capture(page)).uuid);
  const listed = [];
  for await (const { uuid } of other.listCaptures({ limit: 2 })) listed.push(uuid);
  expect(listed).toEqual(made);
});

test('a batch is created once, and waited for', async () => {
  const options = { requests: [page, { ...page, format: 'jpeg' as const }], options: { colorScheme: 'dark' as const } };
  const idempotencyKey = 'a-batch-of-the-client';
  const { id, counts } = await client.createBatch(options, { idempotencyKey });
  expect(counts.total).toBe(2);
  expect((await client.createBatch(options, { idempotencyKey })).id).toBe(id);
  const states: string[] = [];
  const ended = await client.waitForBatch(id, { onState: ({ status }) => states.push(status) });
  expect(ended).toMatchObject({ id, status: 'completed', counts: { total: 2, completed: 2 }, tokensCharged: 2 });
  expect(states.at(-1)).toBe('completed');
  expect(await client.getBatch(id)).toEqual(ended);
  const { contentType, stream } = await client.getBatchZip(id);
  const archive = Buffer.from(await new Response(stream).arrayBuffer());
  expect([contentType, archive.subarray(0, 2).toString()]).toEqual(['application/zip', 'PK']);
  await expect(client.getBatchZip(unknownUuid)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const followed = await client.createBatch({ requests: [page, page] });
  const changes: BatchChange[] = [];
  for await (const change of client.batchEvents(followed.id)) changes.push(change);
  expect((await client.getBatch(followed.id)).status).toBe('completed');
  if (changes.length > 0) expect(changes.at(-1)?.counts).toMatchObject({ total: 2, queued: 0, completed: 2 });
  await expect(client.getBatch(unknownUuid)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('documents are merged', async () => {
  const file = await makePdf(['one', 'two']);
  front.renderer.fileOf = () => file;
  const { uuid } = await client.capture({ ...page, format: 'pdf' });
  const { stream, ...merged } = await client.mergePdf({ documents: [{ capture: uuid }, { capture: uuid }] });
  const { length: size } = Buffer.from(await new Response(stream).arrayBuffer());
  expect(merged).toEqual({ pages: 4, uuids: [uuid, uuid], contentType: 'application/pdf', size });
  const failure = client.mergePdf({ documents: [{ capture: unknownUuid }] });
  await expect(failure).rejects.toMatchObject({ code: 'CAPTURE_NOT_FOUND' });
});

test('a thumbnail is a picture, or null if the capture has none', async () => {
  const pdf = await client.capture({ ...page, format: 'pdf' });
  expect(await client.getThumbnail(pdf.uuid)).toBeNull();
  const size = { width: 100, height: 50 };
  const picture = await sharp({ create: { ...size, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  front.renderer.fileOf = () => picture;
  front.renderer.changeUpload = (upload) => ({ ...upload, ...size });
  const { uuid } = await client.capture(page);
  expect(await client.getThumbnail(uuid, { width: 64 })).toMatchObject({ type: 'image/webp' });
  await expect(client.getThumbnail(unknownUuid)).rejects.toMatchObject({ code: 'CAPTURE_NOT_FOUND' });
});

test('usage, refreshes and deliveries can be read', async () => {
  const { uuid } = await client.capture(page);
  expect(await client.getCaptureHistory(uuid)).toMatchObject({ options: {}, refreshes: [], deliveries: [] });
  const { days } = await client.getUsageHistory({ days: 7 });
  expect(days).toHaveLength(7);
  expect(await client.listWebhookDeliveries({ limit: 1 })).toEqual([]);
  await expect(client.redeliverWebhook(uuid)).rejects.toBeInstanceOf(ConflictError);
  await expect(client.sendTestEvent({ url: 'nowhere' })).rejects.toBeInstanceOf(ValidationError);
  expect(await client.sendTestEvent({ url: 'https://example.com/hook' })).toMatchObject({ id: expect.any(String) });
  expect(await client.getStatusHistory()).toMatchObject({ components: expect.any(Array), incidents: [] });
});

test('events are iterated until the key is no longer valid', async () => {
  const { account, first } = await openAccount(front.url);
  const own = new Webcapture({ url: front.url, apiKey: first.key });
  const operator = new Webcapture({ url: front.url, apiKey: adminToken });
  const seen: CaptureEvent[] = [];
  let begun: Promise<Capture> | undefined;
  const onOpen = () => {
    begun = own.capture(page);
  };
  const following = (async () => {
    for await (const event of own.events({ onOpen })) {
      seen.push(event);
      if (event.status === 'completed') await operator.admin.changeAccount(account.id, { suspended: true });
    }
  })();
  await expect(following).rejects.toMatchObject({ name: 'PermissionError', code: 'FORBIDDEN' });
  expect(seen.at(-1)).toEqual({ uuid: (await begun)?.uuid, status: 'completed', refresh: null });
  await expect(own.events()[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(PermissionError);
});

test('the operator reads the fleet, its changes, and failures', async () => {
  const { admin } = new Webcapture({ url: front.url, apiKey: adminToken });
  const { regions } = await admin.getOverview();
  expect(regions.length).toBeGreaterThan(0);
  const stop = new AbortController();
  const following = (async () => {
    for await (const overview of admin.events({ signal: stop.signal })) {
      expect(overview.regions.map(({ region }) => region)).toEqual(regions.map(({ region }) => region));
      stop.abort(new Error('enough'));
    }
  })();
  await expect(following).rejects.toThrow('enough');
  expect(await admin.listCaptures({ sort: 'failed', limit: 5 })).toEqual([]);
  expect(await admin.listDeadLetters()).toEqual([]);
  expect((await admin.getUsage({ days: 1, limit: 1 })).totals.accounts).toBeGreaterThanOrEqual(0);
});

test('a capture reports its progress, and its failure is an error', async () => {
  const steps: string[] = [];
  const onProgress = ({ region, step }: CaptureProgress) => steps.push(`${step} ${region}`);
  const result = await client.capture(page, { onProgress });
  expect(result).toMatchObject({ status: 'completed', metadata: { url: page.url } });
  front.renderer.behavior = (job, renderer) => {
    renderer.begin(job);
    return renderer.fail(job, 'NAVIGATION_FAILED', 'There is no such host.');
  };
  const failure = await client.capture(page, { onProgress }).catch((error: unknown) => error);
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
  expect(steps).toEqual(['queued us-east', 'queued us-east', 'rendering us-east']);
  expect(failure).toBeInstanceOf(CaptureFailedError);
  expect(failure).toMatchObject({ code: 'NAVIGATION_FAILED', message: 'There is no such host.' });
  expect((failure as CaptureFailedError).captureUuid).toBeTypeOf('string');
  const early = client.capture({ url: 'nowhere' }, { onProgress });
  await expect(early).rejects.toMatchObject({ code: 'VALIDATION_ERROR', status: 400 });
});

describe('a signature of the controller', () => {
  const occurredAt = Date.now();
  const sign = (secrets: readonly string[], now = Date.now()) =>
    signEvent(
      newRecord({ status: 'completed', outcome: newOutcome() }),
      { event: 'capture.completed', revision: 0, occurredAt },
      { cdnUrl: 'https://cdn.test', now, secrets },
    );

  test('is verified with the secret of the account, before, during and after a rotation', async () => {
    const { secret: old } = await client.getWebhookSecret();
    const before = sign([old]);
    const { secret, previous } = await client.rotateWebhookSecret({ graceSeconds: 60 });
    expect(previous).toMatchObject([{ secret: old }]);
    const during = sign([secret, old]);
    const event = JSON.parse(before.body) as object;
    expect(await verifyWebhook(before.body, before.headers, [secret, old])).toEqual(event);
    expect(await verifyWebhook(during.body, during.headers, old)).toMatchObject({ type: 'capture.completed' });
    const bytes = new TextEncoder().encode(during.body);
    expect(await verifyWebhook(bytes, new Headers(during.headers), secret)).toMatchObject({
      type: 'capture.completed',
    });
    const { body, headers } = sign([secret]);
    await expect(verifyWebhook(body, headers, old)).rejects.toThrow('No signature of the event');
  });

  test.each([
    ['another body', ({ body, headers }: SignedEvent) => ({ body: `${body} `, headers })],
    ['another id', ({ body, headers }: SignedEvent) => ({ body, headers: { ...headers, 'webhook-id': 'msg_b_0' } })],
    [
      'no signature',
      ({ body, headers: { 'webhook-id': id = '' } }: SignedEvent) => ({ body, headers: { 'webhook-id': id } }),
    ],
    [
      'text that is no base64',
      ({ body, headers }: SignedEvent) => ({ body, headers: { ...headers, 'webhook-signature': 'v1,§' } }),
    ],
  ])('is refused with %s', async (_, change) => {
    const { secret } = await client.getWebhookSecret();
    const { body, headers } = change(sign([secret]));
    await expect(verifyWebhook(body, headers, secret)).rejects.toBeInstanceOf(WebhookVerificationError);
  });

  test('is refused if it is more than five minutes old or in the future', async () => {
    const { secret } = await client.getWebhookSecret();
    for (const seconds of [-302, 302]) {
      const { body, headers } = sign([secret], Date.now() + 1000 * seconds);
      await expect(verifyWebhook(body, headers, secret)).rejects.toThrow('more than 300 seconds from now');
    }
  });
});
