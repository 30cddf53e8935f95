import { randomUUIDv7 } from 'node:crypto';
import { JetStreamApiError } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { UnsignedJob } from '@webcapture/shared/queue/job.ts';
import type { AcceptedRequest } from '../../../services/front/capture/accept-request.ts';
import type { AwaitedResult } from '../../../services/front/capture/await-end.ts';
import { Dispatcher, type DispatchOptions, type DispatcherDeps } from '../../../services/front/capture/dispatcher.ts';
import { InFlight } from '../../../services/front/capture/regions.ts';
import { pdfOptions } from '../../../services/front/capture/pdf-rules.ts';
import { PendingReplies } from '../../../services/front/capture/reply-inbox.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { resultOf } from '../../harness/settling.ts';

const request = (source: AcceptedRequest['source']): AcceptedRequest => ({
  source,
  options: { format: 'png', timeout: 5000, imageTimeout: 0, delay: 0, pdf: pdfOptions() } as AcceptedRequest['options'],
  region: 'auto',
  priority: 'interactive',
  tokenCost: 1,
  lifetimeMs: 1000,
  persistence: undefined,
  webhookUrl: undefined,
});
const urlRequest = request({ kind: 'url', url: 'https://example.com/' });

/** A dispatcher whose queue runs `publish`; `events` lists all calls in order. */
function dispatcher(
  publish: (job: UnsignedJob, mailbox: PendingReplies) => Promise<void>,
  { maxPayload = 1_000_000, readsUploads = false } = {},
) {
  const events: string[] = [];
  const jobs: UnsignedJob[] = [];
  const failures: (CaptureFailure | undefined)[] = [];
  const mailboxes = new Map<string, PendingReplies>();
  const inFlight = new InFlight();
  const unexpected = () => {
    throw new Error('the record need not be read');
  };
  const note = (event: string) => async () => void events.push(event);
  const deps = {
    captures: fake({
      get: unexpected,
      end: async (ref, transition) => {
        const record = ref.draft === undefined ? null : transition(ref.draft, Date.now());
        failures.push(record?.failure);
        return { record, changed: true };
      },
    }),
    settlements: fake({
      settle: async () => {
        const draft = jobs[0]?.ticket.draft;
        return {
          outcome: 'completed',
          record: draft === undefined ? null : ({ ...draft, status: 'completed' } as const),
        };
      },
    }),
    jobs: fake({
      publish: async (job) => {
        events.push('publish');
        jobs.push(job);
        await publish(job, mailboxes.get(job.uuid) ?? new PendingReplies());
        return { sequence: 1 };
      },
      isTaken: unexpected,
      remove: note('remove job'),
    }),
    inbox: fake({
      subjectOf: (region, uuid) => `replies.${region}.x.${uuid}`,
      open: (uuid) => {
        const mailbox = new PendingReplies();
        mailboxes.set(uuid, mailbox);
        return mailbox;
      },
      close: (uuid) => void mailboxes.delete(uuid),
    }),
    link: fake({ onReconnect: () => () => undefined }),
    regions: fake({ choose: async () => 'us-east' as const }),
    inFlight,
    htmlStore: { put: note('put html'), remove: note('remove html') },
    store: fake({ readsUploads }),
    maxPayload: () => maxPayload,
    queueTimeoutMs: 60_000,
    now: Date.now,
    log: silentLog,
  } satisfies DispatcherDeps;
  const capture = async (
    accepted: AcceptedRequest,
    {
      beforeQueued,
      onAccepted,
      ...options
    }: Partial<DispatchOptions> & {
      beforeQueued?: () => Promise<unknown>;
      onAccepted?: (record: CaptureRecord) => void;
    } = {},
  ) => {
    const dispatch = await new Dispatcher(deps).prepare(accepted, {
      uuid: randomUUIDv7(),
      account: 'a',
      wantsBytes: false,
      ...options,
    });
    let end: AwaitedResult | undefined;
    try {
      await beforeQueued?.();
      onAccepted?.(dispatch.record);
      const waiter = await dispatch.publish();
      end = await waiter.wait(new AbortController().signal);
      return end;
    } finally {
      dispatch.close(end);
    }
  };
  return { capture, events, jobs, failures, mailboxes, inFlight };
}

const complete = async (_job: UnsignedJob, mailbox: PendingReplies) => {
  const result = resultOf(
    { ticket: 'a.ticket' },
    { kind: 'failed', code: 'CAPTURE_FAILED', message: 'Settled above.', cause: 'service' },
  );
  mailbox.deliver({ result, bytes: null, region: 'us-east', at: Date.now() });
};

test('a reply that arrives before the queue confirms the job is not lost', async () => {
  const { capture, events, mailboxes, inFlight } = dispatcher(complete);
  expect((await capture(urlRequest)).record.status).toBe('completed');
  expect(events).toEqual(['publish']);
  expect(mailboxes.size).toBe(0);
  expect(inFlight.of('us-east')).toBe(0);
});

test('the reply contains no file if the store reads uploads anyway', async () => {
  const { capture, jobs } = dispatcher(complete, { readsUploads: true });
  await capture(urlRequest, { wantsBytes: true });
  expect(jobs[0]?.reply?.wants).toBe('result');
});

test("the job contains the front's reply subject and the draft record", async () => {
  const { capture, jobs } = dispatcher(complete);
  const accepted: CaptureRecord[] = [];
  await capture(urlRequest, { wantsBytes: true, onAccepted: (record) => accepted.push(record) });
  const [job] = jobs;
  expect(job).toMatchObject({
    priority: 'interactive',
    reply: { subject: `replies.us-east.x.${job?.uuid}`, wants: 'bytes' },
  });
  expect(job?.ticket).toMatchObject({ account: 'a', uuid: job?.uuid, revision: 0, region: 'us-east' });
  expect(job?.ticket.draft).toEqual(accepted[0]);
  expect(accepted[0]).toMatchObject({ status: 'queued', priority: 'interactive', fileName: job?.file.object });
});

test("the caller's step before queueing runs first, and its error ends the capture", async () => {
  const { capture, events, failures, mailboxes, inFlight } = dispatcher(complete);
  await capture(urlRequest, { beforeQueued: async () => events.push('before') });
  expect(events).toEqual(['before', 'publish']);
  const lost = () => Promise.reject(new Error('lost'));
  const accepted: CaptureRecord[] = [];
  await expect(
    capture(urlRequest, { beforeQueued: lost, onAccepted: (record) => accepted.push(record) }),
  ).rejects.toThrow('lost');
  expect(events).toEqual(['before', 'publish']);
  expect([failures, accepted, mailboxes.size, inFlight.of('us-east')]).toEqual([[], [], 0, 0]);
});

describe('HTML', () => {
  test.each([
    ['in the message if it fits', `<${'a'.repeat(900_000)}`, 'html', ['publish']],
    [
      'stored separately when it does not',
      `<${'a'.repeat(990_000)}`,
      'stored-html',
      ['put html', 'publish', 'remove html'],
    ],
    ['by its bytes as JSON', `<${'"'.repeat(500_000)}`, 'stored-html', ['put html', 'publish', 'remove html']],
  ])('goes %s', async (_name, html, kind, expected) => {
    const { capture, events, jobs } = dispatcher(complete);
    await capture(request({ kind: 'html', html }));
    expect(jobs[0]?.source.kind).toBe(kind);
    expect(events).toEqual(expected);
  });

  test('is stored separately if the options fill the job', async () => {
    const { capture, jobs } = dispatcher(complete);
    const { options, ...rest } = request({ kind: 'html', html: `<${'a'.repeat(900_000)}` });
    const pdf = { ...options.pdf, headerTemplate: '"'.repeat(65_536) };
    await capture({ ...rest, options: { ...options, pdf } });
    expect(jobs[0]?.source.kind).toBe('stored-html');
  });
});

describe('jobs that cannot be queued', () => {
  const apiError = (code: number, status: number) =>
    new JetStreamApiError({ code: status, err_code: code, description: 'no' });

  test.each([
    ['a full queue', apiError(10_077, 503), 'QUEUE_FULL'],
    ['a queue that is unavailable', apiError(10_008, 503), 'INTERNAL_ERROR'],
  ])('%s fails the capture too', async (_name, error, code) => {
    const { capture, failures, mailboxes, inFlight } = dispatcher(() => Promise.reject(error));
    await expect(capture(urlRequest)).rejects.toMatchObject({ code });
    expect(failures).toMatchObject([{ code }]);
    expect(mailboxes.size).toBe(0);
    expect(inFlight.of('us-east')).toBe(0);
  });
});
