import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { putHtml, removeHtml, takeHtml } from '@webcapture/shared/storage/html-parcel.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const soon = () => Date.now() + 60_000;

test.each([
  ['a word', 'a'],
  ['parts that end within a character', `${'a'.repeat(256 * 1024 - 1)}é${'\u{1F600}'.repeat(300_000)}`],
])('%s comes back as it was, as often as it is asked for', async (_name, html) => {
  const name = randomUUID();
  await putHtml(nats.session, name, html, soon());
  const other = await nats.connect();
  expect((await takeHtml(other, name)) === html).toBe(true);
  expect((await takeHtml(nats.session, name)) === html).toBe(true);
});

test('one that is not there, or not whole, is an error', async () => {
  const name = randomUUID();
  await expect(takeHtml(nats.session, name)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await putHtml(nats.session, name, 'x'.repeat(600_000), soon());
  await nats.session.jsm.streams.purge(streamNames.files, { filter: `files.html.${name}.1` });
  await expect(takeHtml(nats.session, name)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});

test('removal leaves nothing, and may be repeated', async () => {
  const [name, other] = [randomUUID(), randomUUID()];
  await putHtml(nats.session, name, 'x'.repeat(600_000), soon());
  await putHtml(nats.session, other, 'y', soon());
  await removeHtml(nats.session, name);
  await removeHtml(nats.session, name);
  await expect(takeHtml(nats.session, name)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await takeHtml(nats.session, other)).toBe('y');
});

test('one that nobody removes goes by itself', async () => {
  const name = randomUUID();
  await putHtml(nats.session, name, 'x', Date.now() + 1000);
  await until('the parcel to expire', async () => {
    const filter = { subjects_filter: `files.html.${name}.>` };
    const { state } = await nats.session.jsm.streams.info(streamNames.files, filter);
    return Object.keys(state.subjects ?? {}).length === 0;
  });
});
