import { randomUUIDv7 } from 'node:crypto';
import { JetStreamApiError } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { AcceptedRequest } from '../../../services/front/capture/accept-request.ts';
import { Dispatcher, type DispatcherDeps } from '../../../services/front/capture/dispatcher.ts';
import { InFlight } from '../../../services/front/capture/in-flight.ts';
import { Mailbox } from '../../../services/front/capture/mailbox.ts';
import { pdfOptions } from '../../../services/front/capture/pdf-options.ts';
import { silentLog } from '../../harness/nats-session.ts';

const request = (source: AcceptedRequest['source']): AcceptedRequest => ({
  source,
  options: { format: 'png', timeout: 5000, imageTimeout: 0, delay: 0, pdf: pdfOptions() } as AcceptedRequest['options'],
  format: 'png',
  region: 'auto',
  lane: 'interactive',
  tokenCost: 1,
  lifetimeMs: 1000,
  persistence: undefined,
  webhookUrl: undefined,
});
const urlRequest = request({ kind: 'url', url: 'https://example.com/' });

/** A dispatcher whose queue does what `publish` does; everything that happens is told in order. */
function dispatcher(publish: (job: CaptureJob, mailbox: Mailbox) => Promise<void>, maxPayload = 1_000_000) {
  const events: string[] = [];
  const jobs: CaptureJob[] = [];
  const failures: CaptureFailure[] = [];
  const mailboxes = new Map<string, Mailbox>();
  const inFlight = new InFlight();
  const unexpected = () => {
    throw new Error('the record need not be read');
  };
  const note = (event: string) => async () => void events.push(event);
  const deps = {
    captures: {
      create: note('create'),
      get: unexpected,
      cancelQueued: unexpected,
      fail: async (_ref: object, failure: CaptureFailure) => {
        failures.push(failure);
        return null;
      },
    },
    jobs: {
      publish: async (job: CaptureJob) => {
        events.push('publish');
        jobs.push(job);
        await publish(job, mailboxes.get(job.uuid) ?? new Mailbox());
        return { sequence: 1 };
      },
      remove: note('remove job'),
    },
    inbox: {
      subjectOf: (uuid: string) => `results.x.${uuid}`,
      open: (uuid: string) => {
        const mailbox = new Mailbox();
        mailboxes.set(uuid, mailbox);
        return mailbox;
      },
      close: (uuid: string) => mailboxes.delete(uuid),
    } as unknown as DispatcherDeps['inbox'],
    link: { onReconnect: () => () => undefined },
    regions: { choose: async () => 'us-east' as const },
    inFlight,
    parcels: { put: note('put html'), remove: note('remove html') },
    maxPayload: () => maxPayload,
    queueTimeoutMs: 60_000,
    log: silentLog,
  } satisfies DispatcherDeps;
  const capture = (accepted: AcceptedRequest) =>
    new Dispatcher(deps).capture(accepted, {
      uuid: randomUUIDv7(),
      account: 'a',
      wantsBytes: false,
      clientGone: new AbortController().signal,
    });
  return { capture, events, jobs, failures, mailboxes, inFlight };
}

const complete = async (job: CaptureJob, mailbox: Mailbox) => {
  const record = { uuid: job.uuid, status: 'completed' } as CaptureRecord;
  mailbox.deliver({ record, bytes: null });
};

test('a result that is announced before the job is known to be queued is not missed', async () => {
  const { capture, events, mailboxes, inFlight } = dispatcher(complete);
  expect((await capture(urlRequest)).record.status).toBe('completed');
  expect(events).toEqual(['create', 'publish']);
  expect(mailboxes.size).toBe(0);
  expect(inFlight.of('us-east')).toBe(0);
});

describe('html', () => {
  test.each([
    ['as it is when it fits', `<${'a'.repeat(900_000)}`, 'html', ['create', 'publish']],
    [
      'as a parcel when it does not',
      `<${'a'.repeat(990_000)}`,
      'stored-html',
      ['put html', 'create', 'publish', 'remove html'],
    ],
    [
      'by its bytes as JSON',
      `<${'"'.repeat(500_000)}`,
      'stored-html',
      ['put html', 'create', 'publish', 'remove html'],
    ],
  ])('goes %s', async (_name, html, kind, expected) => {
    const { capture, events, jobs } = dispatcher(complete);
    await capture(request({ kind: 'html', html }));
    expect(jobs[0]?.source.kind).toBe(kind);
    expect(events).toEqual(expected);
  });
});

describe('what cannot be queued', () => {
  const apiError = (code: number, status: number) =>
    new JetStreamApiError({ code: status, err_code: code, description: 'no' });

  test.each([
    ['a full queue', apiError(10_077, 503), 'QUEUE_FULL'],
    ['a queue that is away', apiError(10_008, 503), 'INTERNAL_ERROR'],
  ])('%s fails the capture too', async (_name, error, code) => {
    const { capture, failures, mailboxes, inFlight } = dispatcher(() => Promise.reject(error));
    await expect(capture(urlRequest)).rejects.toMatchObject({ code });
    expect(failures).toMatchObject([{ code }]);
    expect(mailboxes.size).toBe(0);
    expect(inFlight.of('us-east')).toBe(0);
  });
});
