import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AuthenticationError,
  type Capture,
  ValidationError,
  verifyWebhook,
  Webcapture,
  WebhookVerificationError,
} from '@webcapture/client';
import { type SignedEvent, signEvent } from '../../../services/controller/jobs/webhooks/event.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { presetKey, startStand, type Stand } from '../front/stand.ts';

let stand: Stand;
let client: Webcapture;
beforeAll(async () => {
  stand = await startStand();
  client = new Webcapture({ url: `${stand.url}/`, apiKey: presetKey });
});
afterAll(() => stand[Symbol.asyncDispose]());

const page = { url: 'https://example.com/' };

test('a capture is its data, or its file', async () => {
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

test('errors are classes with codes', async () => {
  const invalid = await client.capture({ url: 'nowhere' }).catch((error: unknown) => error);
  expect(invalid).toBeInstanceOf(ValidationError);
  expect(invalid).toMatchObject({ code: 'VALIDATION_ERROR', status: 400, retryable: false });
  expect((invalid as ValidationError).requestId).toBeTypeOf('string');
  const stranger = new Webcapture({ url: stand.url, apiKey: 'unknown' });
  await expect(stranger.getUsage()).rejects.toBeInstanceOf(AuthenticationError);
});

test('lists are iterated over page by page', async () => {
  const key = await stand.makeKey();
  const other = new Webcapture({ url: stand.url, apiKey: key });
  const made = [];
  for (let i = 0; i < 3; i++) made.unshift((await other.capture(page)).uuid);
  const listed = [];
  for await (const { uuid } of other.listCaptures({ limit: 2 })) listed.push(uuid);
  expect(listed).toEqual(made);
});

describe('what the controller signs', () => {
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

  test('is refused more than five minutes from now, in both directions', async () => {
    const { secret } = await client.getWebhookSecret();
    for (const seconds of [-302, 302]) {
      const { body, headers } = sign([secret], Date.now() + 1000 * seconds);
      await expect(verifyWebhook(body, headers, secret)).rejects.toThrow('more than 300 seconds from now');
    }
  });
});
