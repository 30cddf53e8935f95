import { expect, test } from 'vitest';
import type { CaptureRefresh } from '@webcapture/shared/captures/capture-record.ts';
import { captureJobVersion, jobOf } from '@webcapture/shared/queue/job.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

const cache = { name: 'a-name', ttl: 60 };
const refresh: CaptureRefresh = {
  revision: 2,
  state: 'queued',
  by: 'request',
  region: 'eu-west',
  acceptedAt: 1000,
  startBy: 2000,
  deadline: 3000,
};

test('the job of a capture has the fields of its record', () => {
  const record = newRecord({ priority: 'background', cache, isolation: 'browser' });
  const { uuid, account, region, priority, acceptedAt, startBy, deadline, fileName, lifetimeMs, options, url } = record;
  expect(jobOf(record)).toEqual({
    version: captureJobVersion,
    revision: 0,
    ticket: { account, uuid, revision: 0, region, object: fileName },
    reply: { subject: `replies.${region}.any.${uuid}`, wants: 'start' },
    source: { kind: 'url', url },
    uuid,
    account,
    region,
    priority,
    acceptedAt,
    startBy,
    deadline,
    file: { object: fileName, lifetimeMs },
    options,
    isolation: 'browser',
  });
});

test('the job of an interactive capture contains its draft record', () => {
  const record = newRecord({ cache });
  expect(jobOf(record).ticket.draft).toEqual(record);
  expect(jobOf(record)).not.toHaveProperty('reply');
  expect(jobOf({ ...record, priority: 'background' }).ticket).not.toHaveProperty('draft');
});

test('the job contains sealed secrets as they are stored, and other secrets in the clear', () => {
  const secrets = { key: 'a', sealed: 'b' };
  expect(jobOf(newRecord({ secrets })).secrets).toEqual(secrets);
  expect(jobOf(newRecord({ secrets, refresh }), 2).secrets).toEqual(secrets);
  const clear = { css: 'p {}' };
  const job = jobOf(newRecord(), 0, { secrets: { clear } });
  expect(job.secrets).toEqual({ clear });
  expect(JSON.stringify(job.ticket)).not.toContain('p {}');
});

test('a job is the same when it is made again from the stored record, except for the object of a refresh', () => {
  const record = newRecord({ html: 'stored-page', refresh });
  const stored = JSON.parse(JSON.stringify(record)) as typeof record;
  expect(jobOf(stored)).toEqual(jobOf(record));
  const [once, twice] = [jobOf(stored, 2), jobOf(record, 2)];
  const file = { ...twice.file, object: once.file.object };
  expect(once).toEqual({ ...twice, file, ticket: { ...twice.ticket, object: file.object } });
});

test('the job of a refresh has its own region and times, is in the background, and has a new object', () => {
  const record = newRecord({ priority: 'interactive', status: 'completed', outcome: newOutcome(), refresh, cache });
  const { revision, region, acceptedAt, startBy, deadline } = refresh;
  const { uuid, account, options, lifetimeMs, expiresAt } = record;
  const job = jobOf(record, 2);
  const wanted = { revision, region, acceptedAt, startBy, deadline, priority: 'background' };
  expect(job).toMatchObject({ ...wanted, uuid, options, file: { lifetimeMs, expiresAt, cacheSeconds: 300 } });
  expect(job.ticket).toEqual({ account, uuid, revision, region, object: job.file.object });
  expect(job.file.object).toMatch(new RegExp(`^${uuid}`));
  expect(job.file.object).not.toBe(record.fileName);
  expect(job.reply).toEqual({ subject: `replies.${region}.any.${uuid}`, wants: 'start' });
});

test('the isolation of a refresh is that of its order, not of the capture', () => {
  const [apart, shared] = [{ isolation: 'browser' }, {}] as const;
  expect(jobOf(newRecord({ ...apart, refresh: { ...refresh, ...shared } }), 2)).not.toHaveProperty('isolation');
  expect(jobOf(newRecord({ ...shared, refresh: { ...refresh, ...apart } }), 2)).toMatchObject(apart);
});

test('stored HTML is referred to by its file name, for the capture and for a refresh', () => {
  const record = newRecord({ url: 'about:blank', html: 'stored-page', refresh });
  const source = { kind: 'stored-html', fileName: 'stored-page', region: 'us-east' };
  expect([jobOf(record).source, jobOf(record, 2).source]).toEqual([source, source]);
});

test('HTML that is not stored is in the job, with the reply subject', () => {
  const reply = { subject: 'answer.here', wants: 'bytes' } as const;
  const delivery = { reply, source: { kind: 'html', html: '<p>' } } as const;
  expect(jobOf(newRecord({ url: 'about:blank' }), 0, delivery)).toMatchObject(delivery);
});

test.each([
  [undefined, 1],
  [refresh, 1],
  [refresh, 3],
])('jobOf throws for the refresh %j and the revision %i', (latest, revision) => {
  const record = newRecord(latest === undefined ? {} : { refresh: latest });
  expect(() => jobOf(record, revision)).toThrow(/no revision/);
});

test('the job contains the selectors of elements that are not compared', () => {
  const compare = { threshold: 0.1, minShare: 0, ignore: ['.ad'] };
  const record = newRecord({ persistence: { refreshIntervalMs: 0, compare }, refresh });
  expect([jobOf(record).ignore, jobOf(record, 2).ignore]).toEqual([['.ad'], ['.ad']]);
});
