import { randomUUID } from 'node:crypto';
import { TimeoutError } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { copyHtml, storeHtml, removeHtml, readHtml } from '@webcapture/shared/files/stored-html.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const at = (name: string) => ({ region: 'us-east', name }) as const;
const soon = () => Date.now() + 60_000;

test.each([
  ['a letter', 'a'],
  ['parts that end within a character', `${'a'.repeat(256 * 1024 - 1)}é${'\u{1F600}'.repeat(300_000)}`],
])('%s can be read repeatedly, and unchanged', async (_name, html) => {
  const name = randomUUID();
  await storeHtml(nats.session, at(name), html, soon());
  const other = await nats.connect();
  expect((await readHtml(other, at(name))) === html).toBe(true);
  expect((await readHtml(nats.session, at(name))) === html).toBe(true);
});

test('HTML that is missing or incomplete is an error', async () => {
  const name = randomUUID();
  await expect(readHtml(nats.session, at(name))).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await storeHtml(nats.session, at(name), 'x'.repeat(600_000), soon());
  await nats.session.jsm.streams.purge(streamNames.files, { filter: `files.html.us-east.${name}.1` });
  await expect(readHtml(nats.session, at(name))).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});

test('removal leaves nothing, and can be repeated', async () => {
  const [name, other] = [randomUUID(), randomUUID()];
  await storeHtml(nats.session, at(name), 'x'.repeat(600_000), soon());
  await storeHtml(nats.session, at(other), 'y', soon());
  await removeHtml(nats.session, name);
  await removeHtml(nats.session, name);
  await expect(readHtml(nats.session, at(name))).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await readHtml(nats.session, at(other))).toBe('y');
});

test('HTML that is not removed expires', async () => {
  const name = randomUUID();
  await storeHtml(nats.session, at(name), 'x', Date.now() + 1000);
  await until('the stored HTML to expire', async () => {
    const filter = { subjects_filter: `files.html.us-east.${name}.>` };
    const { state } = await nats.session.jsm.streams.info(streamNames.files, filter);
    return Object.keys(state.subjects ?? {}).length === 0;
  });
});

test('HTML is read by subject, copied to another region, and removed from both', async () => {
  const name = randomUUID();
  const html = 'x'.repeat(600_000);
  await storeHtml(nats.session, at(name), html, soon());
  expect(await readHtml(nats.session, at(name), 'by-subject')).toBe(html);
  const there = { region: 'eu-west', name } as const;
  await expect(readHtml(nats.session, there)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  for (let times = 0; times < 2; times++) await copyHtml(nats.session, at(name), 'eu-west', soon(), Date.now());
  expect(await readHtml(nats.session, there, 'by-subject')).toBe(html);
  await removeHtml(nats.session, name);
  for (const address of [at(name), there]) {
    await expect(readHtml(nats.session, address)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  }
});

test('a read by subject waits a moment for HTML that a replica does not have yet', async () => {
  const name = randomUUID();
  const reading = readHtml(nats.session, at(name), 'by-subject');
  await storeHtml(nats.session, at(name), '<p>late</p>', soon());
  expect(await reading).toBe('<p>late</p>');
});

test('a part whose acknowledgement was lost is not an error', async () => {
  const name = randomUUID();
  const { js } = nats.session;
  let sent = 0;
  const publish: typeof js.publish = async (...args) => {
    const isLost = ++sent % 2 === 1;
    const ack = await js.publish(...args);
    if (isLost) throw new TimeoutError();
    return ack;
  };
  const forgetful = new Proxy(js, { get: (_, key) => (key === 'publish' ? publish : Reflect.get(js, key)) });
  await storeHtml({ ...nats.session, js: forgetful }, at(name), 'x'.repeat(600_000), soon());
  expect(await readHtml(nats.session, at(name))).toHaveLength(600_000);
  expect(sent).toBeGreaterThan(4);
});
