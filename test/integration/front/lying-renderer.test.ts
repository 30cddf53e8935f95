import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import {
  regionOfSubject,
  replySubject,
  resultSubject,
  sharedInbox,
  streamNames,
} from '@webcapture/shared/nats/streams.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import { encodeReply } from '@webcapture/shared/queue/encode-reply.ts';
import type { SettlementOutcome } from '../../../services/front/capture/settlement-outcomes.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import type { Upload } from '@webcapture/shared/files/file-store.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { plainReport } from '../../harness/records.ts';
import { completedBy, resultOf } from '../../harness/settling.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { adminToken } from './accounts.ts';
import { fileStatus, openHolder, type Holder } from './background.ts';
import { startTestFront, type TestFront } from './test-front.ts';

const warnings: string[] = [];
const warn = (_fields: unknown, message: string) => void warnings.push(message);
const say = () => undefined;
const log = {
  trace: say,
  debug: say,
  info: say,
  warn,
  error: warn,
  fatal: warn,
  child: () => log,
} as unknown as Logger;

let front: TestFront;
let release = () => undefined as void;
beforeAll(async () => {
  const environment = { WEBCAPTURE_ADMIN_TOKEN: adminToken, WEBCAPTURE_REGIONS: 'us-east:1,eu-west:0' };
  front = await startTestFront(environment, { log });
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => {
  // Each test ends its jobs itself, or leaves them open.
  const released = new Promise<void>((resolve) => (release = resolve));
  front.renderer.behavior = () => released;
});
afterEach(() => release());

async function counted(outcome: SettlementOutcome): Promise<number> {
  const found = await front.metrics.getSingleMetric('webcapture_front_results_total')?.get();
  return found?.values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? -1;
}

/** Returns the pulled job of a background capture, for which no client waits. */
async function givenJob(holder: Holder): Promise<CaptureJob> {
  const { uuid } = await holder.queue();
  return until('the job to be pulled', () => front.renderer.jobs.find((job) => job.uuid === uuid));
}

/** Publishes any data as a result, as any renderer of the region could. */
const publish = (data: unknown, uuid: string, region: Region = 'us-east') =>
  front.renderer.session.js.publish(
    resultSubject(region, uuid),
    typeof data === 'string' ? data : JSON.stringify(data),
    {
      msgID: randomUUID(),
    },
  );

/** Sends a false result, and waits until a front has counted and removed it. */
async function lie(outcome: SettlementOutcome, lying: () => Promise<unknown> | void): Promise<void> {
  const before = await counted(outcome);
  await lying();
  await until(`it to be counted as ${outcome}`, async () => (await counted(outcome)) === before + 1);
  await until('no result to be left', async () => {
    const { state } = await front.nats.session.jsm.streams.info(streamNames.results);
    return state.messages === 0;
  });
}

/** Checks that the capture is open and uncharged, and that the honest result completes it. */
async function expectUnharmed(holder: Holder, job: CaptureJob): Promise<void> {
  expect(['queued', 'rendering']).toContain((await holder.record(job.uuid)).status);
  expect(await holder.usage()).toMatchObject({ tokens: 0, captures: 0, reserved: 1, queued: 1 });
  await front.renderer.complete(job);
  const state = await holder.until(job.uuid, 'completed');
  expect(await fileStatus(front, state)).toBe(200);
  expect(await holder.usage()).toEqual({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
}

const forgedWarning = 'a renderer sent a result with an invalid ticket';
const failed = { kind: 'failed', code: 'CAPTURE_FAILED', message: 'It failed.', cause: 'service' } as const;

describe('a result for a job that the renderer did not get', () => {
  test('is refused with a forged ticket', async () => {
    const holder = await openHolder(front);
    const job = await givenJob(holder);
    const [body = ''] = job.ticket.split('.');
    const forged = { ticket: `${body}.${Buffer.alloc(32).toString('base64url')}` };
    await lie('forged', () => publish(resultOf(forged, failed), job.uuid));
    expect(warnings).toContain(forgedWarning);
    await expectUnharmed(holder, job);
  });

  test('is refused with a ticket of another region', async () => {
    const holder = await openHolder(front);
    const job = await givenJob(holder);
    await lie('forged', () => publish(resultOf(job, failed), job.uuid, 'eu-west'));
    await expectUnharmed(holder, job);
  });

  test('is refused with another account and uuid inside its own ticket', async () => {
    const [liar, victim] = [await openHolder(front), await openHolder(front)];
    const [own, others] = [await givenJob(liar), await givenJob(victim)];
    const ticket = ticketOf(own);
    const [, signature = ''] = own.ticket.split('.');
    const { account, uuid } = others;
    const body = Buffer.from(JSON.stringify({ ...ticket, account, uuid })).toString('base64url');
    await lie('forged', () => publish(resultOf({ ticket: `${body}.${signature}` }, failed), uuid));
    await expectUnharmed(victim, others);
  });

  test('ends the capture of its ticket, not the one of its subject', async () => {
    const [liar, victim] = [await openHolder(front), await openHolder(front)];
    const [own, others] = [await givenJob(liar), await givenJob(victim)];
    await lie('failed', () => publish(resultOf(own, failed), others.uuid));
    expect((await liar.record(own.uuid)).status).toBe('failed');
    await expectUnharmed(victim, others);
  });

  test('is refused for a capture that does not exist', async () => {
    const holder = await openHolder(front);
    const uuid = randomUUIDv7();
    const ticket = { account: holder.account, uuid, revision: 0, region: 'us-east', object: `${uuid}.png` };
    const forged = { ticket: `${Buffer.from(JSON.stringify(ticket)).toString('base64url')}.nonsense` };
    const upload: Upload = {
      object: 'any',
      contentType: 'image/png',
      size: 7,
      etag: 'e',
      width: 3,
      height: 4,
      expiresAt: Date.now() + 60_000,
    };
    await lie('forged', () => publish(resultOf(forged, completedBy(upload)), uuid));
    expect((await holder.state(uuid).catch(() => null))?.['status']).toBeUndefined();
    expect(await holder.usage()).toEqual({ tokens: 0, captures: 0, reserved: 0, queued: 0 });
  });
});

test('a repeated result, also with another message id, is charged once', async () => {
  const holder = await openHolder(front);
  const job = await givenJob(holder);
  const result = resultOf(job, completedBy(await front.renderer.upload(job)));
  await lie('completed', () => publish(result, job.uuid));
  for (let time = 0; time < 3; time++) await lie('repeated', () => publish(result, job.uuid));
  expect(await holder.usage()).toEqual({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
  expect(await fileStatus(front, await holder.state(job.uuid))).toBe(200);
});

describe('a result with an impossible description of its file is malformed', () => {
  const upload = {
    object: 'any',
    contentType: 'image/png',
    size: 7,
    etag: 'e',
    width: 3,
    height: 4,
    expiresAt: 1_800_000_000_000,
  };
  test.each<[string, object]>([
    ['an absurd size', { size: 2 ** 52 }],
    ['a size below zero', { size: -1 }],
    ['a size that is no number', { size: Number.NaN }],
    ['an absurd width', { width: 1e9 }],
    ['no height', { height: 0 }],
    ['an endless life', { expiresAt: 1e300 }],
    ['the type of a page', { contentType: 'text/html' }],
  ])('%s', async (_, changes) => {
    const holder = await openHolder(front);
    const job = await givenJob(holder);
    const outcome = { ...completedBy(upload as Upload), upload: { ...upload, ...changes } };
    await lie('malformed', () => publish({ ...resultOf(job, failed), outcome }, job.uuid));
    expect(warnings).toContain('a result of a renderer is malformed');
    await expectUnharmed(holder, job);
  });
});

describe('a file that does not match its job fails the capture without a charge, and is removed', () => {
  const changed = (changes: Partial<Upload>) => async (job: CaptureJob) => ({
    ...(await front.renderer.upload(job)),
    ...changes,
  });
  test.each<[string, (job: CaptureJob) => Promise<Upload>]>([
    ['larger than it is said to be', changed({ size: 7 })],
    ['with other dimensions', changed({ width: 9999 })],
    ['of another type', changed({ contentType: 'image/jpeg' })],
    ['with another expiry', changed({ expiresAt: Date.now() + 3650 * 86_400_000 })],
    ['with the tag of another one', changed({ etag: 'another' })],
    ['that does not exist', nowhere],
    ['that is no picture', async (job) => new Page(front.renderer).upload(job)],
    ['of another account', async () => front.renderer.upload(await givenJob(await openHolder(front)))],
  ])('a file %s', async (_, make) => {
    const holder = await openHolder(front);
    const job = await givenJob(holder);
    const upload = await make(job);
    await lie('rejected', () => publish(resultOf(job, completedBy(upload)), job.uuid));
    expect(warnings).toContain('a renderer stored a file that does not match its job');
    const state = await holder.state(job.uuid);
    expect(state).toMatchObject({ status: 'failed', tokenCost: 0, error: { code: 'CAPTURE_FAILED' } });
    expect(await front.renderer.store.stat(job.file.object)).toBeNull();
    expect(await holder.usage()).toEqual({ tokens: 0, captures: 0, reserved: 0, queued: 0 });
  });

  /** Describes an upload like the stand-in, but with an object that does not exist. */
  async function nowhere(job: CaptureJob): Promise<Upload> {
    const upload = await front.renderer.upload(job);
    const [region, object, , parts] = upload.object.split('/');
    return { ...upload, object: [region, object, randomUUID(), parts].join('/') };
  }
});

/** Uploads an HTML page instead of a picture. */
class Page extends StandInRenderer {
  constructor({ session, region }: StandInRenderer) {
    super(session, region);
  }

  override fileOf(): Buffer {
    return Buffer.from('<script>alert(1)</script>'.repeat(10));
  }
}

describe('a false reply', () => {
  const told = (subject: string, ticket: string, outcome: JobOutcome) =>
    front.renderer.session.nc.publish(subject, encodeReply(resultOf({ ticket }, outcome), null, 1e6));

  test('with the ticket of its own capture starts that one, not the capture of the subject', async () => {
    const [liar, victim] = [await openHolder(front), await openHolder(front)];
    const [own, others] = [await givenJob(liar), await givenJob(victim)];
    told(replySubject('us-east', sharedInbox, others.uuid), own.ticket, { kind: 'started' });
    await liar.until(own.uuid, 'rendering');
    expect((await victim.record(others.uuid)).status).toBe('queued');
    await lie('forged', () => told(replySubject('us-east', sharedInbox, others.uuid), 'forged', { kind: 'started' }));
    expect((await victim.record(others.uuid)).status).toBe('queued');
    await expectUnharmed(victim, others);
  });

  test('to a client of another capture does not end that capture', async () => {
    const holder = await openHolder(front);
    const answer = holder.capture({ background: false });
    const job = await until('the job', () => front.renderer.jobs.find(({ account }) => account === holder.account));
    const own = await givenJob(await openHolder(front));
    const subject = job.reply?.subject ?? '';
    expect(regionOfSubject(subject)).toBe('us-east');
    await lie('failed', () => told(subject, own.ticket, failed));
    await lie('forged', () => told(subject, 'forged', failed));
    await lie('malformed', () => told(subject, job.ticket, { ...failed, message: 'x'.repeat(900_000) }));
    for (let time = 0; time < 3; time++) told(subject, own.ticket, { kind: 'returned', reason: 'shutting_down' });
    await front.renderer.complete(job);
    const { status, body } = await answer;
    expect([status, body.data?.['uuid']]).toEqual([200, job.uuid]);
    // The returned job belongs to another capture.
    expect(front.renderer.jobs.filter(({ uuid }) => uuid === job.uuid)).toHaveLength(1);
    expect(await holder.usage()).toMatchObject({ tokens: 1, captures: 1 });
  });

  test('with bytes that differ from the file is not served', async () => {
    const key = await front.makeKey();
    const answer = front.capture({ url: 'https://example.com/other-bytes', responseType: 'file' }, { key });
    const job = await until('the job', () =>
      front.renderer.jobs.find(({ source }) => 'url' in source && source.url.endsWith('other-bytes')),
    );
    const outcome = completedBy(await front.renderer.upload(job));
    const page = Buffer.alloc(outcome.upload.size, '<script>');
    const { nc } = front.renderer.session;
    nc.publish(job.reply?.subject ?? '', encodeReply(resultOf(job, outcome), page, 1e6));
    const response = await answer;
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(front.renderer.fileOf(job));
  });
});

test('a failure with a message of a megabyte is refused by the server or malformed', async () => {
  const holder = await openHolder(front);
  const job = await givenJob(holder);
  const wordy = (length: number) => publish(resultOf(job, { ...failed, message: 'x'.repeat(length) }), job.uuid);
  await expect(wordy(1_000_000)).rejects.toThrow();
  await lie('malformed', () => wordy(200_000));
  await expectUnharmed(holder, job);
});

test('a report with 100,000 characters of text is malformed', async () => {
  const holder = await openHolder(front);
  const job = await givenJob(holder);
  const outcome = completedBy(await front.renderer.upload(job));
  const report = { ...plainReport, title: 'x'.repeat(100_000) };
  await lie('malformed', () => publish(resultOf(job, { ...outcome, report }), job.uuid));
  await expectUnharmed(holder, job);
});
