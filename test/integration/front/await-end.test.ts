import { TimeoutError } from '@nats-io/nats-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureDurable } from '@webcapture/shared/nats/streams.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import { complete, fail, isOpen } from '@webcapture/shared/captures/transitions.ts';
import { CaptureWaiter, type AwaitDeps } from '../../../services/front/capture/await-end.ts';
import { PendingReplies } from '../../../services/front/capture/reply-inbox.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { queuedJobs } from '../../harness/queues.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { completedBy, resultOf, SettlingParts } from '../../harness/settling.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
let parts: SettlingParts;
let renderer: StandInRenderer;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  parts = new SettlingParts(nats.session);
  renderer = new StandInRenderer(await nats.connect(), 'us-east');
});
beforeEach(() => nats.session.jsm.streams.purge('CAPTURES'));
afterAll(() => nats[Symbol.asyncDispose]());

interface Waiting {
  readonly draft: CaptureRecord;
  readonly end: ReturnType<CaptureWaiter['wait']>;
  readonly gone: AbortController;
  readonly mailbox: PendingReplies;
  readonly listeners: Set<() => void>;
  /** How many times the record was read. */
  readonly reads: () => number;
  readonly reconnect: () => void;
  /** Delivers a result as the renderer would. */
  readonly reply: (outcome: JobOutcome, bytes?: Buffer) => Promise<void>;
}

/** Queues a capture and waits for it like a front; times are milliseconds from now. */
async function wait(
  startBy: number,
  deadline: number,
  {
    before,
    get,
    wantsBytes = false,
  }: {
    before?: (waiting: PendingReplies, draft: CaptureRecord) => Promise<void>;
    get?: AwaitDeps['captures']['get'];
    wantsBytes?: boolean;
  } = {},
): Promise<Waiting> {
  const now = nats.session.now();
  const draft = newRecord({ account: 'waits', acceptedAt: now, startBy: now + startBy, deadline: now + deadline });
  const mailbox = new PendingReplies();
  await before?.(mailbox, draft);
  const job = jobOf(draft, 0, { reply: { subject: 'replies.us-east.test.x', wants: 'bytes' } });
  const queued = await parts.jobs.publish(job);
  const gone = new AbortController();
  const listeners = new Set<() => void>();
  let reads = 0;
  const { captures, jobs, settlements } = parts;
  const deps: AwaitDeps = {
    captures: fake({
      get: (account, uuid) => {
        reads++;
        return get?.(account, uuid) ?? captures.get(account, uuid);
      },
      end: (ref, transition) => captures.end(ref, transition),
    }),
    jobs,
    settlements,
    link: fake({
      onReconnect: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    now: nats.session.now,
    log: silentLog,
  };
  const end = new CaptureWaiter(job, { queued, draft, mailbox, wantsBytes }, deps).wait(gone.signal);
  // Avoids an unhandled rejection in a test that awaits the end later.
  end.catch(() => undefined);
  return {
    draft,
    end,
    gone,
    mailbox,
    listeners,
    reads: () => reads,
    reconnect: () => listeners.forEach((listener) => listener()),
    reply: async (outcome, bytes) => {
      const { ticket } = await parts.jobOf(draft);
      mailbox.deliver({
        result: resultOf({ ticket }, outcome),
        bytes: bytes ?? null,
        region: 'us-east',
        at: nats.session.now(),
      });
    },
  };
}

/** Takes a job as a renderer that then falls silent. */
async function take(): Promise<void> {
  expect(await pullOne(renderer.session.nc, 'CAPTURES', captureDurable('us-east', 'interactive'), 5000)).not.toBeNull();
}

const uploaded = async (draft: CaptureRecord) => {
  const job = await parts.jobOf(draft);
  return { outcome: completedBy(await renderer.upload(job)), bytes: renderer.fileOf(job) };
};
const failed = { kind: 'failed', code: 'NAVIGATION_FAILED', message: 'There is no such host.', cause: 'page' } as const;
const settledByAnother = (draft: CaptureRecord) =>
  parts.captures.end({ ...draft, draft }, complete(0, newOutcome(), draft.expiresAt));

test('a reply ends the wait at once, without a read of the record', async () => {
  const { draft, end, reply, reads, listeners } = await wait(60_000, 90_000);
  const { outcome, bytes } = await uploaded(draft);
  await reply(outcome, bytes);
  expect(await end).toMatchObject({ record: { uuid: draft.uuid, status: 'completed' }, bytes });
  expect(reads()).toBe(0);
  expect(listeners.size).toBe(0);
});

test('a reply that arrived before the wait ends it too', async () => {
  const { end } = await wait(60_000, 90_000, {
    before: async (mailbox, draft) => {
      const result = resultOf(await parts.jobOf(draft), failed);
      mailbox.deliver({ result, bytes: null, region: 'us-east', at: nats.session.now() });
    },
  });
  expect((await end).record).toMatchObject({ status: 'failed', failure: { code: 'NAVIGATION_FAILED' } });
});

test('a reply without bytes ends the wait with bytes from the store if they are wanted', async () => {
  const { draft, end, reply } = await wait(60_000, 90_000, { wantsBytes: true });
  const { outcome, bytes } = await uploaded(draft);
  await reply(outcome);
  expect(await end).toMatchObject({ record: { status: 'completed' }, bytes });
});

test('a reply that arrives before its file waits for the file', async () => {
  const { draft, end, reply } = await wait(60_000, 90_000);
  const job = await parts.jobOf(draft);
  const upload = await renderer.upload(job);
  // The parts of the file arrive a moment later, under another generation.
  await nats.session.jsm.streams.purge('FILES', {
    filter: `files.part.us-east.${job.file.object.replaceAll('.', '_')}.>`,
  });
  await reply(completedBy(upload));
  const [, , generation = ''] = upload.object.split('/');
  const subject = `files.part.us-east.${job.file.object.replaceAll('.', '_')}.${generation}.0`;
  await nats.session.js.publish(subject, renderer.fileOf(job), { ttl: '86700s' });
  expect((await end).record.status).toBe('completed');
});

test('a reconnection makes the wait read the record at once', async () => {
  const { draft, end, reconnect, reads, listeners } = await wait(60_000, 90_000);
  reconnect();
  await until('it to be read', () => reads() === 1);
  await settledByAnother(draft);
  reconnect();
  expect((await end).record.status).toBe('completed');
  expect(reads()).toBe(2);
  expect(listeners.size).toBe(0);
});

test('a returned job is queued again any number of times, but once per job', async () => {
  const { draft, end, reply, mailbox } = await wait(60_000, 90_000);
  for (let times = 1; times <= 5; times++) {
    const job = (await queuedJobs(nats.session)).at(-1);
    if (job === undefined) throw new Error('no job is queued');
    const result = resultOf(job, { kind: 'returned', reason: 'no_free_slot' });
    for (let again = 0; again < 3; again++) {
      mailbox.deliver({ result, bytes: null, region: 'us-east', at: nats.session.now() });
    }
    await until('it to be queued again', async () => (await queuedJobs(nats.session)).length === times + 1);
  }
  await until('all to be looked at', () => mailbox.isEmpty);
  expect(new Set((await queuedJobs(nats.session)).map(({ uuid }) => uuid))).toEqual(new Set([draft.uuid]));
  await reply(failed);
  expect((await end).record.status).toBe('failed');
});

test('a reply for another capture neither ends the wait nor queues a job', async () => {
  const { draft, end, reply, mailbox } = await wait(60_000, 90_000);
  const other = await parts.jobOf(newRecord({ account: 'other' }));
  const deliver = (outcome: JobOutcome) =>
    mailbox.deliver({ result: resultOf(other, outcome), bytes: null, region: 'us-east', at: nats.session.now() });
  deliver({ kind: 'returned', reason: 'shutting_down' });
  deliver(failed);
  const { outcome } = await uploaded(draft);
  await reply(outcome);
  expect((await end).record).toMatchObject({ uuid: draft.uuid, status: 'completed' });
  expect(await queuedJobs(nats.session)).toHaveLength(1);
});

describe('when the time is up', () => {
  test('a capture that still waits fails as a timeout in the queue, and leaves the queue', async () => {
    const { end } = await wait(100, 60_000);
    const { record } = await end;
    expect(record).toMatchObject({ status: 'failed', failure: { code: 'CAPTURE_TIMEOUT' } });
    expect(record.failure?.message).toContain('queue');
    await until('the queue to be empty', async () => (await queuedJobs(nats.session)).length === 0);
  });

  test('a capture that a renderer has taken fails at its deadline as a timeout of rendering', async () => {
    const start = performance.now();
    const { end } = await wait(300, 4000);
    await take();
    const { record } = await end;
    expect(performance.now() - start).toBeGreaterThan(4400);
    expect(record.failure).toMatchObject({ code: 'CAPTURE_TIMEOUT' });
    expect(record.failure?.message).toContain('Rendering');
  });

  test('a capture that has completed stays completed', async () => {
    const { end } = await wait(-5000, -2000, { before: async (_, draft) => void (await settledByAnother(draft)) });
    expect((await end).record.status).toBe('completed');
  });
});

describe('when the client disconnects', () => {
  test('a waiting capture is cancelled', async () => {
    const { end, gone } = await wait(60_000, 90_000);
    gone.abort();
    expect((await end).record).toMatchObject({
      status: 'failed',
      failure: { code: 'CAPTURE_FAILED', cancelled: true },
    });
    await until('the queue to be empty', async () => (await queuedJobs(nats.session)).length === 0);
  });

  test('a capture that a renderer has taken continues', async () => {
    const { draft, end, gone } = await wait(60_000, 90_000);
    await take();
    gone.abort();
    expect(isOpen((await end).record)).toBe(true);
    expect(await parts.captures.get(draft.account, draft.uuid)).toBeNull();
  });

  test('a capture that has ended stays unchanged', async () => {
    const { draft, end, gone } = await wait(60_000, 90_000);
    await parts.captures.end(
      { ...draft, draft },
      fail(0, { code: 'PAGE_TOO_LARGE', message: 'Too tall.', cause: 'page' }),
    );
    gone.abort();
    expect((await end).record.failure?.code).toBe('PAGE_TOO_LARGE');
  });
});

describe('when the record cannot be read', () => {
  test('the wait continues', async () => {
    let isBroken = true;
    const get: AwaitDeps['captures']['get'] = async (account, uuid) => {
      if (isBroken) throw new TimeoutError();
      return parts.captures.get(account, uuid);
    };
    const { draft, end, reconnect, reads } = await wait(60_000, 90_000, { get });
    reconnect();
    await until('it to have been tried', () => reads() > 0);
    await settledByAnother(draft);
    isBroken = false;
    reconnect();
    expect((await end).record.status).toBe('completed');
    expect(reads()).toBeGreaterThanOrEqual(2);
  });

  test('the wait fails some time after the deadline', async () => {
    const session = await nats.connect();
    const away = new SettlingParts(session);
    const draft = newRecord({
      account: 'away',
      acceptedAt: Date.now() - 60_000,
      startBy: Date.now() - 30_000,
      deadline: Date.now() - 20_000,
    });
    const job = jobOf(draft);
    const unreachable = () => Promise.reject(new TimeoutError());
    const deps: AwaitDeps = {
      captures: fake({ get: unreachable, end: unreachable }),
      jobs: away.jobs,
      settlements: away.settlements,
      link: fake({ onReconnect: () => () => undefined }),
      now: session.now,
      log: silentLog,
    };
    const awaited = { queued: { sequence: 1 }, draft, mailbox: new PendingReplies(), wantsBytes: false };
    const end = new CaptureWaiter(job, awaited, deps).wait(new AbortController().signal);
    await expect(end).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  });
});
