import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { startRefresh } from '@webcapture/shared/captures/transitions.ts';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { JobOutcome, JobResult } from '@webcapture/shared/queue/results.ts';
import { diagnosticsExample } from '../../../services/front/api/capture-examples.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { defaultOptions, newRecord } from '../../harness/records.ts';
import { completedBy, resultOf, SettlingParts } from '../../harness/settling.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';

const { uuid: _uuid, refresh: _refresh, expiresAt: _expiresAt, ...diagnostics } = diagnosticsExample;
const failure = { kind: 'failed', code: 'CAPTURE_FAILED', message: 'it fails', cause: 'page' } as const;

type Noted = NonNullable<Extract<JobOutcome, { kind: 'failed' }>['diagnostics']>;

let nats: TestNats;
let renderer: StandInRenderer;
let parts: SettlingParts;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  renderer = new StandInRenderer(await nats.connect(), 'us-east');
  renderer.diagnostics = { diagnostics };
  parts = new SettlingParts(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** Uploads diagnostics of a job as a renderer. */
async function note(job: CaptureJob): Promise<Noted> {
  const { diagnostics: noted } = await renderer.uploadDiagnostics(job);
  if (noted === undefined) throw new Error('nothing was stored');
  return noted;
}

async function failed(
  changes: Partial<CaptureRecord> = {},
): Promise<{ readonly job: CaptureJob; readonly noted: Noted; readonly result: JobResult }> {
  const job = await parts.jobOf(newRecord({ account: 'noted', ...changes }));
  const noted = await note(job);
  return { job, noted, result: resultOf(job, { ...failure, diagnostics: noted }) };
}

const usageOf = (account: string) => new AccountUsage(nats.session).read(account, Date.now(), 'exact');

/** Counts the messages of an object in the stream of files: its parts and its head. */
async function messagesOf(name: string): Promise<number> {
  const { state } = await nats.session.jsm.streams.info('FILES', { subjects_filter: '>' });
  const encoded = name.replaceAll('.', '_');
  return Object.keys(state.subjects ?? {}).filter((subject) => subject.includes(encoded)).length;
}

test('diagnostics are recorded and counted once, even if several fronts settle their result at once', async () => {
  const other = new SettlingParts(await nats.connect());
  const { result, noted } = await failed({ account: 'at-once' });
  const settlements = await Promise.all(
    [parts, other].flatMap((front) => [true, false].map((isAwaited) => front.settle(result, { isAwaited }))),
  );
  for (const { record } of settlements) expect(record?.diagnostics).toMatchObject({ name: noted.name, revision: 0 });
  expect((await usageOf('at-once')).storedBytes).toBe(noted.upload.size);
  expect(await parts.store.stat(noted.name)).toMatchObject({ size: noted.upload.size });
});

test('diagnostics of a failure stay when a later delivery of its job completes', async () => {
  const { job, noted, result } = await failed();
  await parts.settle(result);
  const upload = await renderer.upload(job);
  expect(await parts.settle(resultOf(job, completedBy(upload)))).toMatchObject({ outcome: 'ended' });
  expect(await parts.partsOf(job)).toBe(0);
  expect(await parts.store.stat(noted.name)).not.toBeNull();
});

describe('diagnostics are neither recorded nor stored', () => {
  test.each<[string, () => Promise<{ readonly noted: Noted; readonly result: JobResult }>]>([
    [
      'if the capture completes and did not ask for them',
      async () => {
        const { job, noted } = await failed();
        return { noted, result: resultOf(job, { ...completedBy(await renderer.upload(job)), diagnostics: noted }) };
      },
    ],
    [
      'if they belong to a job that another delivery has ended',
      async () => {
        const { job, noted, result } = await failed();
        await parts.settle(resultOf(job, failure));
        return { noted, result };
      },
    ],
    [
      'if the account has no room for them',
      async () => {
        await new Accounts(nats.session).create({ id: 'full', name: 'full', createdAt: 0, maxStoredBytes: 1 });
        return failed({ account: 'full' });
      },
    ],
    [
      'if the bytes are not those that the renderer names',
      async () => {
        const { job, noted } = await failed();
        const diagnosticsOfOther = { ...noted, upload: { ...noted.upload, etag: '0'.repeat(32) } };
        return { noted, result: resultOf(job, { ...failure, diagnostics: diagnosticsOfOther }) };
      },
    ],
  ])('%s', async (_case, arrange) => {
    const { noted, result } = await arrange();
    const { record } = await parts.settle(result);
    expect(record?.status).toMatch(/^(?:completed|failed)$/);
    expect(record).not.toHaveProperty('diagnostics');
    expect(await messagesOf(noted.name)).toBe(0);
  });
});

test('diagnostics under the name of another object are refused, and that object stays', async () => {
  const { job, noted } = await failed();
  const victim = await failed();
  await parts.settle(victim.result);
  const { record } = await parts.settle(
    resultOf(job, { ...failure, diagnostics: { name: victim.noted.name, upload: noted.upload } }),
  );
  expect(record).not.toHaveProperty('diagnostics');
  expect(await parts.store.stat(victim.noted.name)).not.toBeNull();
});

test('diagnostics of a completed capture that requested them expire with its file', async () => {
  const options = { ...defaultOptions, diagnostics: true } as const;
  const job = await parts.jobOf(newRecord({ account: 'asked', options, lifetimeMs: 90_000 }));
  const [upload, noted] = [await renderer.upload(job), await note(job)];
  const { record } = await parts.settle(resultOf(job, { ...completedBy(upload), diagnostics: noted }));
  expect(record?.diagnostics?.name).toBe(noted.name);
  expect((await usageOf('asked')).storedBytes).toBe(upload.size + noted.upload.size);
  expect(Math.abs((record?.diagnostics?.expiresAt ?? 0) - (record?.expiresAt ?? 0))).toBeLessThan(1000);
});

test('diagnostics of a failed refresh replace those of the capture, and contain the revision', async () => {
  const record = newRecord({
    account: 'refreshed',
    priority: 'background',
    options: { ...defaultOptions, diagnostics: true },
  });
  await parts.captures.create(record);
  const job = await parts.jobOf(record);
  const former = await note(job);
  await parts.settle(resultOf(job, { ...completedBy(await renderer.upload(job)), diagnostics: former }));
  const times = { acceptedAt: Date.now(), startBy: Date.now() + 60_000, deadline: Date.now() + 120_000 };
  const refreshing = await parts.captures.change(
    record,
    startRefresh({ revision: 1, by: 'request', region: 'us-east', isolation: 'browser', ...times }),
  );
  if (refreshing === null) throw new Error('the record is gone');
  const refreshJob = await parts.jobOf(refreshing, 1);
  const noted = await note(refreshJob);
  const settled = await parts.settle(resultOf(refreshJob, { ...failure, diagnostics: noted }));
  expect(settled.record?.diagnostics).toMatchObject({ name: noted.name, revision: 1, expiresAt: refreshing.expiresAt });
  expect(await messagesOf(former.name)).toBe(0);
});
