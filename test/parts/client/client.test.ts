import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuthenticationError, type Capture, ValidationError, Webcapture } from '@webcapture/client';
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
