import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { Jobs } from '@webcapture/shared/state/jobs.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import { CanaryBook, nextFacts } from '../../../services/controller/chores/canary-book.ts';
import { canaryRounds } from '../../../services/controller/chores/canary-rounds.ts';
import { runCanary, type CanaryParts } from '../../../services/controller/chores/canary.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { heartbeat } from './support/facts.ts';
import { StandInRenderer } from './support/stand-in-renderer.ts';

let nats: TestNats;
let session: NatsSession;
let parts: CanaryParts;
let renderer: StandInRenderer;
beforeAll(async () => {
  nats = await startTestNats(['us-east', 'eu-west']);
  ({ session } = nats);
  const [captures, jobs] = [new Captures(session), new Jobs(session)];
  parts = { session, captures, jobs, store: new EmbeddedStore(session), log: silentLog };
  renderer = new StandInRenderer(session, 'us-east', 'us-east-1');
});
afterAll(async () => {
  await renderer.die();
  await nats[Symbol.asyncDispose]();
});
afterEach(() => {
  renderer.behaviour = 'answer';
});

const never = new AbortController().signal;
const leftBehind = async () => {
  const records = await session.jsm.streams.info(streamNames.db, { subjects_filter: '$KV.db.capture.system.>' });
  const live = await Promise.all(
    Object.keys(records.state.subjects ?? {}).map((subject) =>
      new Entries(session, 'db').get(subject.slice('$KV.db.'.length)),
    ),
  );
  const jobs = await session.jsm.streams.info(streamNames.captures);
  return { records: live.filter((entry) => entry !== null).length, jobs: jobs.state.messages };
};
/** What takes longer than the canary waits for it is removed all the same. */
const nothingLeft = () =>
  until('nothing to be left', async () => {
    const { records, jobs } = await leftBehind();
    return records === 0 && jobs === 0;
  });

describe('one canary', () => {
  test('goes through the queue and leaves nothing behind', async () => {
    const outcome = await runCanary(parts, 'us-east', 30_000, never);
    expect(outcome).toMatchObject({ kind: 'completed' });
    expect(renderer.seen.at(-1)).toMatchObject({ account: 'system', lane: 'interactive', source: { kind: 'html' } });
    await nothingLeft();
  });

  test('that fails tells why', async () => {
    renderer.behaviour = 'fail';
    const outcome = await runCanary(parts, 'us-east', 30_000, never);
    expect(outcome).toEqual({ kind: 'failed', reason: 'The browser is unwell.' });
    await nothingLeft();
  });

  test('that nobody takes ends in time and is taken out of the queue', async () => {
    const outcome = await runCanary(parts, 'eu-west', 300, never);
    expect(outcome).toEqual({ kind: 'untouched' });
    await nothingLeft();
  });

  test('ends at once with the term', async () => {
    const aborter = new AbortController();
    const running = runCanary(parts, 'eu-west', 20_000, aborter.signal);
    setTimeout(() => aborter.abort(), 50);
    expect(await running).toBeNull();
    await nothingLeft();
  });
});

describe('the book', () => {
  const failed = { kind: 'failed', reason: 'r' } as const;
  test.each([
    ['completed', null, { kind: 'completed', ms: 5 }, false, { last: 'completed', failures: 0, ms: 5, at: 9 }],
    ['a first failure', null, failed, false, { last: 'failed', failures: 1, reason: 'r', at: 9 }],
    [
      'a second keeps the last good time',
      { last: 'failed', failures: 1, ms: 7, at: 1 },
      failed,
      false,
      { last: 'failed', failures: 2, reason: 'r', ms: 7, at: 9 },
    ],
    [
      'untouched with free slots is a failure',
      null,
      { kind: 'untouched' },
      false,
      { last: 'failed', failures: 1, reason: 'No renderer took it.', at: 9 },
    ],
    [
      'untouched with all slots busy is none',
      { last: 'failed', failures: 1, at: 1 },
      { kind: 'untouched' },
      true,
      { last: 'crowded', failures: 0, at: 9 },
    ],
    [
      'success ends a row of failures',
      { last: 'failed', failures: 4, reason: 'r', at: 1 },
      { kind: 'completed', ms: 5 },
      false,
      { last: 'completed', failures: 0, ms: 5, at: 9 },
    ],
  ] as const)('%s', (_, before, outcome, crowded, after) => {
    expect(nextFacts(before, outcome, crowded, 9)).toEqual(after);
  });

  test('is found by a successor, and forgotten with the renderers', async () => {
    const [leader, successor] = [1, 2].map(() => new CanaryBook(new Entries(session, 'live'), 60_000));
    await leader?.note('us-east', failed, false);
    await successor?.load(['us-east', 'eu-west']);
    expect(successor?.of('us-east')).toEqual(leader?.of('us-east'));
    expect(successor?.of('eu-west')).toBeNull();
    await leader?.forget('us-east');
    await successor?.load(['us-east']);
    expect([leader?.of('us-east'), successor?.of('us-east')]).toEqual([null, null]);
  });
});

test('rounds: a region without renderers is skipped, one that has them is tried soon, a failure again soon', async () => {
  const aborter = new AbortController();
  const { signal } = aborter;
  const book = new CanaryBook(new Entries(session, 'live'), 60_000);
  const serving = { there: false };
  const fleet = { serving: () => (serving.there ? [heartbeat('us-east-1')] : []) };
  renderer.behaviour = 'fail';
  const before = renderer.seen.length;
  const running = canaryRounds(
    { ...parts, fleet, book, regions: ['us-east'], intervalMs: 60_000, retryMs: 100, deadlineMs: 30_000 },
    { signal, holds: () => !signal.aborted },
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(renderer.seen).toHaveLength(before);
  serving.there = true;
  await until('two failures in a row', () => (book.of('us-east')?.failures ?? 0) >= 2);
  renderer.behaviour = 'answer';
  await until('a success', () => book.of('us-east')?.last === 'completed');
  aborter.abort();
  await running;
  await nothingLeft();
});
