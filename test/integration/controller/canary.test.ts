import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { CanaryResults, nextFacts, canaryRounds } from '../../../services/controller/jobs/canary.ts';
import { runCanary, type CanaryParts } from '../../../services/controller/jobs/canary.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import type { Behavior } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { heartbeat } from './support/facts.ts';
import { failing, StandInRenderer } from './support/stand-in-renderer.ts';

let nats: TestNats;
let session: NatsSession;
let parts: CanaryParts;
let renderer: StandInRenderer;
beforeAll(async () => {
  nats = await startTestNats(['us-east', 'eu-west']);
  ({ session } = nats);
  const jobs = new Jobs(session, new Tickets(session));
  parts = { session, jobs, store: new EmbeddedStore(session), log: silentLog };
  renderer = new StandInRenderer(session, 'us-east', 'us-east-1');
});
afterAll(async () => {
  await renderer.stop();
  await nats[Symbol.asyncDispose]();
});
afterEach(() => {
  renderer.behavior = completing;
});

const never = new AbortController().signal;
const completing: Behavior = (job) => renderer.complete(job);
const messagesIn = async (stream: string) => (await session.jsm.streams.info(stream)).state.messages;
const leftBehind = async () => {
  const records = await session.jsm.streams.info(streamNames.db, { subjects_filter: '$KV.db.capture.system.>' });
  const [jobs, files] = await Promise.all([streamNames.captures, streamNames.files].map(messagesIn));
  return { records: records.state.subjects ?? {}, jobs, files };
};
/** A result that comes after the timeout of the canary is removed as well. */
const nothingLeft = () =>
  until('nothing to be left', async () => {
    expect(await leftBehind()).toEqual({ records: {}, jobs: 0, files: 0 });
    return true;
  });

describe('one canary', () => {
  test('goes through the queue and leaves no data', async () => {
    const outcome = await runCanary(parts, 'us-east', 30_000, never);
    expect(outcome).toMatchObject({ kind: 'completed' });
    expect(renderer.jobs.at(-1)).toMatchObject({
      account: 'system',
      priority: 'interactive',
      source: { kind: 'html' },
    });
    await nothingLeft();
  });

  test('leaves a result that expires if no front is running', { tags: 'long' }, async () => {
    await session.jsm.streams.purge(streamNames.results);
    expect(await runCanary(parts, 'us-east', 5000, never)).toMatchObject({ kind: 'completed' });
    await until('the result', async () => (await messagesIn(streamNames.results)) === 1);
    await until('the result to be forgotten', async () => (await messagesIn(streamNames.results)) === 0);
  });

  test('whose image has the wrong size has failed', async () => {
    renderer.behavior = (job) => {
      const { options } = job;
      return renderer.complete({ ...job, options: { ...options, viewport: { ...options.viewport, width: 99 } } });
    };
    expect(await runCanary(parts, 'us-east', 30_000, never)).toEqual({
      kind: 'failed',
      reason: 'The image has the wrong size.',
    });
    await nothingLeft();
  });

  test('that fails has the reason of the failure', async () => {
    renderer.behavior = failing;
    const outcome = await runCanary(parts, 'us-east', 30_000, never);
    expect(outcome).toEqual({ kind: 'failed', reason: 'The browser is unwell.' });
    await nothingLeft();
  });

  test('that no renderer takes ends in time and is removed from the queue', async () => {
    const outcome = await runCanary(parts, 'eu-west', 300, never);
    expect(outcome).toEqual({ kind: 'untouched' });
    await nothingLeft();
  });

  test('ends at once when the term ends', async () => {
    const aborter = new AbortController();
    const running = runCanary(parts, 'eu-west', 20_000, aborter.signal);
    setTimeout(() => aborter.abort(), 50);
    expect(await running).toBeNull();
    await nothingLeft();
  });
});

describe('the canary results of a region', () => {
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
      { last: 'no_free_slot', failures: 0, at: 9 },
    ],
    [
      'success ends a row of failures',
      { last: 'failed', failures: 4, reason: 'r', at: 1 },
      { kind: 'completed', ms: 5 },
      false,
      { last: 'completed', failures: 0, ms: 5, at: 9 },
    ],
  ] as const)('follow from an outcome: %s', (_, before, outcome, noFreeSlot, after) => {
    expect(nextFacts(before, outcome, noFreeSlot, 9)).toEqual(after);
  });

  test('are loaded by a successor, and deleted with the renderers', async () => {
    const [leader, successor] = [1, 2].map(() => new CanaryResults(new Entries(session, 'live'), 60_000, session.now));
    await leader?.record('us-east', failed, false);
    await successor?.load(['us-east', 'eu-west']);
    expect(successor?.of('us-east')).toEqual(leader?.of('us-east'));
    expect(successor?.of('eu-west')).toBeNull();
    await leader?.forget('us-east');
    await successor?.load(['us-east']);
    expect([leader?.of('us-east'), successor?.of('us-east')]).toEqual([null, null]);
  });
});

test('canary rounds skip a region without renderers, and soon retry a failed canary', async () => {
  const aborter = new AbortController();
  const { signal } = aborter;
  const canaryResults = new CanaryResults(new Entries(session, 'live'), 60_000, session.now);
  const serving = { there: false };
  const fleet = { serving: () => (serving.there ? [heartbeat('us-east-1')] : []) };
  renderer.behavior = failing;
  const before = renderer.jobs.length;
  const running = canaryRounds(
    {
      ...parts,
      fleet: fake(fleet),
      canaryResults,
      regions: ['us-east'],
      intervalMs: 60_000,
      retryMs: 100,
      deadlineMs: 30_000,
    },
    { signal, holds: () => !signal.aborted },
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(renderer.jobs).toHaveLength(before);
  serving.there = true;
  await until('two failures in a row', () => (canaryResults.of('us-east')?.failures ?? 0) >= 2);
  renderer.behavior = completing;
  await until('a success', () => canaryResults.of('us-east')?.last === 'completed');
  aborter.abort();
  await running;
  await nothingLeft();
});
