import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { keysMatching } from '@webcapture/shared/nats/read-many.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { readHtml } from '@webcapture/shared/files/stored-html.ts';
import { expiriesOf } from '../../harness/queues.ts';
import { until } from '../../harness/until.ts';
import {
  completeJobs,
  fileStatus,
  holdJobs,
  openHolder,
  startBackgroundFront,
  tasksOf,
  type Holder,
} from './background.ts';
import { adminToken, send } from './accounts.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
let release = () => undefined as void;
beforeAll(async () => {
  front = await startBackgroundFront();
});
afterAll(() => front[Symbol.asyncDispose]());
afterEach(() => {
  release();
  completeJobs(front.renderer);
});

const jobOf = (uuid: string) => until('the job', () => front.renderer.jobs.find((job) => job.uuid === uuid));
const isolationOf = async (uuid: string, revision = 0) => {
  const job = await until('the job', () =>
    front.renderer.jobs.find((one) => one.uuid === uuid && one.revision === revision),
  );
  return job.isolation;
};
const nothing = { tokens: 0, reserved: 0, queued: 0 };
const horizonMs = 3650 * 86_400_000;

test('captures and refreshes use the isolation that the account has at that time', async () => {
  const holder = await openHolder(front, { isolation: 'browser' });
  const { uuid } = await holder.queue();
  await holder.until(uuid, 'completed');
  const waited = await holder.capture({ background: false });
  await holder.refresh(uuid);
  expect(await isolationOf(uuid)).toBe('browser');
  expect(await isolationOf(String(waited.body.data?.['uuid']))).toBe('browser');
  expect(await isolationOf(uuid, 1)).toBe('browser');
  await until('the refresh to end', async () => (await holder.record(uuid)).refresh?.state === 'completed');
  const change = { method: 'PATCH', body: { isolation: 'context' } };
  expect((await send(`${front.url}/admin/accounts/${holder.account}`, adminToken, change)).status).toBe(200);
  await holder.refresh(uuid);
  expect(await isolationOf(uuid, 2)).toBe('context');
});

describe('a background capture', () => {
  test('is answered at once, waits, is rendered, and gets the promised file', async () => {
    const holder = await openHolder(front);
    release = holdJobs(front.renderer);
    const answer = await holder.capture({ antiBot: true });
    expect(answer.status).toBe(200);
    const { data } = answer.body;
    const uuid = String(data?.['uuid']);
    expect(data).toMatchObject({ status: 'queued', tokenCost: 2, fromCache: false, region: 'us-east' });
    expect(data?.['fileUrl']).toMatch(new RegExp(`^https://cdn.test/${uuid}.*\\.png$`));
    expect(Number.isInteger(data?.['estimatedWaitSeconds'])).toBe(true);
    expect(answer.headers.get('x-capture-uuid')).toBe(uuid);
    expect(answer.headers.get('x-ratelimit-limit')).toBe('1000000');
    expect(await holder.state(uuid)).toMatchObject({ status: 'queued', fileUrl: data?.['fileUrl'], tokenCost: 2 });
    expect(await holder.usage()).toMatchObject({ tokens: 0, captures: 0, reserved: 2, queued: 1 });
    expect(await holder.tokensUsed()).toBe(0);
    expect(await fileStatus(front, data ?? {})).toBe(404);

    front.renderer.begin(await jobOf(uuid));
    await holder.until(uuid, 'rendering');
    expect(await holder.usage()).toMatchObject({ tokens: 0, reserved: 2, queued: 1 });
    release();
    const completed = await holder.until(uuid, 'completed');
    expect(completed).toMatchObject({ fileUrl: data?.['fileUrl'], tokenCost: 2 });
    expect(await fileStatus(front, completed)).toBe(200);
    expect(await holder.usage()).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
    expect(await holder.tokensUsed()).toBe(2);
    expect(front.renderer.jobs.filter((job) => job.uuid === uuid)).toHaveLength(1);
    // The leader checks the capture again after its deadline.
    const left = [`later.dispatch.${holder.account}.${uuid}.0`];
    const tasks = async () => (await tasksOf(front, uuid)).toSorted();
    await until('the remaining tasks', async () => (await tasks()).length === left.length);
    expect(await tasks()).toEqual(left);
    const { expiresAt } = await holder.record(uuid);
    expect(await expiriesOf(front.nats.session, uuid)).toEqual([expiresAt]);
  });

  test('costs nothing if it fails, and reports the error', async () => {
    const holder = await openHolder(front);
    front.renderer.behavior = (job, self) => self.fail(job, 'NAVIGATION_FAILED', 'There is no such host.');
    const { uuid } = await holder.queue();
    expect(await holder.until(uuid, 'failed')).toMatchObject({
      tokenCost: 0,
      error: { code: 'NAVIGATION_FAILED', message: 'There is no such host.' },
    });
    expect(await holder.usage()).toMatchObject(nothing);
  });

  test('may wait a day before it begins', async () => {
    const holder = await openHolder(front);
    const { startBy, acceptedAt, deadline } = await holder.record((await holder.queue()).uuid);
    expect(startBy - acceptedAt).toBe(86_400_000);
    expect(deadline).toBeGreaterThan(startBy + 30_000);
  });

  test.each([{ region: 'asia-east' }, { html: '<p>x</p>', url: undefined, region: 'asia-east' }])(
    'is refused at once in a region without renderers, and leaves no data: %j',
    async (body) => {
      const holder = await openHolder(front);
      const before = await htmlEntries();
      const { status, body: envelope } = await holder.capture(body);
      expect([status, envelope.error?.code]).toEqual([500, 'REGION_UNAVAILABLE']);
      expect(await holder.usage()).toMatchObject(nothing);
      expect(await keysMatching(front.nats.session, 'db', `capture.${holder.account}.>`)).toEqual([]);
      expect(await tasksOf(front, holder.account)).toEqual([]);
      expect(await htmlEntries()).toBe(before);
    },
  );

  test.each([
    [{ responseType: 'file' }, /background/],
    [{ background: false, webhook: { url: 'https://example.com/hook' } }, /webhook needs background/],
  ])('cannot be requested with %j', async (body, message) => {
    const holder = await openHolder(front);
    const { status, body: envelope } = await holder.capture(body);
    expect([status, envelope.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(envelope.error?.message).toMatch(message);
  });
});

/** Only the stored HTML is counted, because files of captures come and go. */
const htmlEntries = async () => {
  const filter = { subjects_filter: 'files.html.>' };
  const { state } = await front.nats.session.jsm.streams.info(streamNames.files, filter);
  return Object.keys(state.subjects ?? {}).length;
};

describe('html', () => {
  const htmlOf = async (uuid: string) => {
    const { source } = await jobOf(uuid);
    if (source.kind !== 'stored-html') throw new Error('the html came with the job');
    return readHtml(front.nats.session, { region: source.region, name: source.fileName });
  };

  test.each([
    ['small', '<p>päge</p>'],
    ['as long as it may be, of four bytes a character', `<p>${'𝄞'.repeat(1024 * 1024 - 3)}`],
  ])('%s reaches the renderer of a background capture unchanged', async (_name, html) => {
    const holder = await openHolder(front);
    release = holdJobs(front.renderer);
    const { uuid, metadata } = await holder.queue({ url: undefined, html });
    expect(metadata).toMatchObject({ url: 'about:blank' });
    expect((await htmlOf(uuid)) === html).toBe(true);
    release();
    await holder.until(uuid, 'completed');
  });

  test.each([true, false])('of a persisted capture is kept for refreshes, background %s', async (background) => {
    const holder = await openHolder(front);
    const { uuid } = await holder.queue({
      url: undefined,
      html: '<p>kept</p>',
      background,
      persistence: { enabled: true },
    });
    await holder.until(uuid, 'completed');
    const record = await holder.record(uuid);
    expect(record).toMatchObject({ html: uuid, persistence: { refreshIntervalMs: 0 }, lifetimeMs: horizonMs });
    expect(await htmlOf(uuid)).toBe('<p>kept</p>');
    const head = { last_by_subj: `files.html.us-east.${uuid}.head` };
    const message = await front.nats.session.jsm.streams.getMessage(streamNames.files, head);
    const ttl = Number.parseInt(message?.header?.get('Nats-TTL') ?? '0', 10);
    expect(ttl).toBeGreaterThan(horizonMs / 1000 - 60);
  });

  test('of a failed capture is left for the leader to delete, even with persistence', async () => {
    const holder = await openHolder(front);
    front.renderer.behavior = (job, self) => self.fail(job, 'NAVIGATION_FAILED', 'No.');
    const { uuid } = await holder.queue({ url: undefined, html: '<p>left</p>', persistence: { enabled: true } });
    await holder.until(uuid, 'failed');
    await until('the task', async () =>
      (await tasksOf(front, uuid)).includes(`tasks.expiry.${holder.account}.${uuid}.0`),
    );
  });
});

describe('the response cache', () => {
  const cached = { responseCache: { enabled: true, ttl: 3600 } };
  const askNow = (holder: Holder, url: string) => holder.capture({ ...cached, url, background: false });

  test('answers a background request at once, at no cost', async () => {
    const holder = await openHolder(front);
    const url = 'https://example.com/hit';
    const first = await askNow(holder, url);
    const answer = await holder.capture({ ...cached, url });
    const { uuid } = first.body.data ?? {};
    expect(answer.body.data).toMatchObject({ uuid, status: 'completed', fromCache: true, tokenCost: 0 });
    expect(answer.headers.get('x-capture-uuid')).toBe(uuid);
    expect(await holder.usage()).toMatchObject({ tokens: 1, queued: 0 });
  });

  test('is filled by a background capture', async () => {
    const holder = await openHolder(front);
    const url = 'https://example.com/fill';
    const { uuid } = await holder.queue({ ...cached, url });
    await holder.until(uuid, 'completed');
    await until('a hit', async () => (await askNow(holder, url)).body.data?.['uuid'] === uuid);
  });

  test('an interactive request does not wait for an equal background capture', async () => {
    const holder = await openHolder(front);
    const url = 'https://example.com/both';
    const hold = Promise.withResolvers<undefined>();
    release = () => hold.resolve(undefined);
    front.renderer.behavior = async (job, self) => {
      if (job.priority === 'background') await hold.promise;
      await self.complete(job);
    };
    const { uuid } = await holder.queue({ ...cached, url });
    await jobOf(uuid);
    const now = await askNow(holder, url);
    expect(now.body.data).toMatchObject({ fromCache: false, tokenCost: 1 });
    expect(now.body.data?.['uuid']).not.toBe(uuid);
    release();
    await holder.until(uuid, 'completed');
    expect(await holder.usage()).toMatchObject({ tokens: 2, captures: 2 });
  });

  test('a background request is queued while an equal interactive one is rendered', async () => {
    const holder = await openHolder(front);
    const url = 'https://example.com/led';
    const already = front.renderer.jobs.length;
    release = holdJobs(front.renderer);
    const waiting = askNow(holder, url);
    await until('the first to be rendered', () => front.renderer.jobs.length > already);
    const { uuid, status } = await holder.queue({ ...cached, url });
    expect(status).toBe('queued');
    release();
    expect((await waiting).body.data?.['uuid']).not.toBe(uuid);
    await holder.until(uuid, 'completed');
  });
});
