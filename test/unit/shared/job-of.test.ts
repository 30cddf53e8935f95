import { expect, test } from 'vitest';
import { captureJobVersion } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRefresh } from '@webcapture/shared/contract/capture-record.ts';
import { jobOf } from '@webcapture/shared/state/job-of.ts';
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

test('the job of a capture has all that its record says', () => {
  const record = newRecord({ lane: 'background', cache, isolation: 'browser' });
  const { uuid, account, region, lane, acceptedAt, startBy, deadline, fileName, options, url } = record;
  expect(jobOf(record)).toEqual({
    version: captureJobVersion,
    revision: 0,
    wantsBytes: false,
    source: { kind: 'url', url },
    uuid,
    account,
    region,
    lane,
    acceptedAt,
    startBy,
    deadline,
    fileName,
    options,
    cache,
    isolation: 'browser',
  });
});

test('made twice, also out of what was stored, it is the same', () => {
  const record = newRecord({ html: 'a-parcel', refresh });
  const stored = JSON.parse(JSON.stringify(record)) as typeof record;
  for (const revision of [0, 2]) expect(jobOf(stored, revision)).toEqual(jobOf(record, revision));
});

test('the job of a refresh goes by its own region and times, in the background, into the same file', () => {
  const record = newRecord({ lane: 'interactive', status: 'completed', outcome: newOutcome(), refresh, cache });
  const { revision, region, acceptedAt, startBy, deadline } = refresh;
  const { uuid, fileName, options } = record;
  const wanted = { revision, region, acceptedAt, startBy, deadline, lane: 'background', wantsBytes: false };
  expect(jobOf(record, 2)).toMatchObject({ ...wanted, uuid, fileName, options, cache });
  expect(jobOf(record, 2)).not.toHaveProperty('resultSubject');
});

test('the isolation of a refresh is that of its order, not that of the capture', () => {
  const [apart, shared] = [{ isolation: 'browser' }, {}] as const;
  expect(jobOf(newRecord({ ...apart, refresh: { ...refresh, ...shared } }), 2)).not.toHaveProperty('isolation');
  expect(jobOf(newRecord({ ...shared, refresh: { ...refresh, ...apart } }), 2)).toMatchObject(apart);
});

test('html that is kept is fetched by its name, for the capture and for a refresh', () => {
  const record = newRecord({ url: 'about:blank', html: 'a-parcel', refresh });
  const source = { kind: 'stored-html', fileName: 'a-parcel' };
  expect([jobOf(record).source, jobOf(record, 2).source]).toEqual([source, source]);
});

test('html that is kept nowhere goes along, and so does where to answer', () => {
  const delivery = { wantsBytes: true, resultSubject: 'answer.here', source: { kind: 'html', html: '<p>' } } as const;
  expect(jobOf(newRecord({ url: 'about:blank' }), 0, delivery)).toMatchObject(delivery);
});

test.each([
  [undefined, 1],
  [refresh, 1],
  [refresh, 3],
])('refresh %j has no revision %i', (latest, revision) => {
  const record = newRecord(latest === undefined ? {} : { refresh: latest });
  expect(() => jobOf(record, revision)).toThrow(/no revision/);
});
