import { describe, expect, test } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { backgroundShards, captureDurable, deadLetterDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { backgroundShardOf } from '@webcapture/shared/state/captures.ts';
import { parseAdvisory } from '../../../services/controller/chores/advisory.ts';
import { settleDeadLetters } from '../../../services/controller/chores/dead-letters.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { queueCapture, type Queued } from './support/jobs.ts';
import { queueRefresh } from './support/refreshes.ts';
import { useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();

describe('dead letters', () => {
  const lead = () => {
    const aborter = new AbortController();
    const { signal } = aborter;
    const done = settleDeadLetters({ ...on(), log: silentLog }, { signal, holds: () => !signal.aborted });
    let ended = false;
    void done.then(() => (ended = true));
    return async () => {
      aborter.abort();
      // It ends after some answers of the server, at most; what it waits for, a letter, would not come for two seconds.
      for (let answers = 0; answers < 10 && !ended; answers++) await on().letters();
      expect(ended).toBe(true);
      await done;
    };
  };
  const durable = captureDurable('us-east', 'interactive');
  /** Lets a job be delivered three times without an answer, and somebody pull once more. */
  const exhaust = async (from = durable) => {
    await until('the job to be given up', async () => {
      (await pullOne(on().session.nc, streamNames.captures, from, 100))?.handBack(10);
      return (await on().session.jsm.streams.info(streamNames.dead)).state.messages > 0;
    });
  };

  const settlement = async (capture: Queued) => {
    await until('the letter to be settled', async () => (await on().letters()) === 0);
    const record = await capture.record();
    return { ...record?.failure, waiting: await on().waiting(), counted: await on().settled('max_deliveries') };
  };
  const failedWith = (message: string) => ({ code: 'CAPTURE_FAILED', message, waiting: 0, counted: 1 });

  test('a job that was delivered three times in vain is settled as failed, told, and removed', async () => {
    const capture = await queueCapture(on().session);
    const heard = on().listen(capture.job);
    await exhaust();
    const stop = lead();
    expect(await settlement(capture)).toEqual(failedWith('The page brought its renderer down three times.'));
    expect(await heard.record).toEqual(await capture.record());
    await stop();
  });

  test('also one of a version that no renderer here knows', async () => {
    const future = { version: 99 } as unknown as Partial<CaptureJob>;
    const capture = await queueCapture(on().session, { job: future });
    await exhaust();
    const stop = lead();
    expect(await settlement(capture)).toEqual(
      failedWith('No renderer of the region knows this kind of capture. Upgrade the renderers.'),
    );
    await stop();
  });

  test('a capture that had completed stays completed', async () => {
    const capture = await queueCapture(on().session);
    await on().captures.begin(capture.job);
    const { outcome } = completed();
    await on().captures.complete(capture.job, outcome, Date.now() + 60_000);
    await exhaust();
    const stop = lead();
    await until('the letter to be settled', async () => (await on().letters()) === 0);
    expect((await capture.record())?.status).toBe('completed');
    expect([await on().waiting(), await on().settled('max_deliveries')]).toEqual([0, 0]);
    await stop();
  });

  test('a refresh that was delivered three times in vain fails, uncharged; its capture stays', async () => {
    const { usage } = tasking(on());
    const { job, record } = await queueRefresh(on(), 'refreshed');
    await on().captures.begin(job);
    await exhaust(captureDurable('us-east', 'background', backgroundShardOf('refreshed', backgroundShards)));
    const stop = lead();
    await until('the letter to be settled', async () => (await on().letters()) === 0);
    const message = 'The page brought its renderer down three times.';
    expect(await record()).toMatchObject({
      status: 'completed',
      refresh: { revision: 1, state: 'failed', failure: { code: 'CAPTURE_FAILED', message } },
    });
    expect(await usage('refreshed')).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
    expect([await on().waiting(), await on().settled('max_deliveries')]).toEqual([0, 1]);
    await stop();
  });

  test('letters about jobs that are gone, and what is no letter, are cleared away', async () => {
    const capture = await queueCapture(on().session);
    (await pullOne(on().session.nc, streamNames.captures, durable, 5000))?.terminate('not a job');
    await until('the advisory', async () => (await on().letters()) === 1);
    on().session.nc.publish(`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${streamNames.captures}.x`, 'no json');
    await until('the other', async () => (await on().letters()) === 2);
    const stop = lead();
    await until('both to be settled', async () => (await on().letters()) === 0);
    // The renderer that terminates a job records why; the server has removed it by then.
    expect((await capture.record())?.status).toBe('queued');
    await stop();
  });

  test('a durable that comes later, or comes back, is served', async () => {
    await on().session.jsm.consumers.delete(streamNames.dead, deadLetterDurable);
    const stop = lead();
    await on().session.jsm.consumers.add(streamNames.dead, { durable_name: deadLetterDurable, ack_policy: 'explicit' });
    const capture = await queueCapture(on().session);
    await exhaust();
    expect(await settlement(capture)).toEqual(failedWith('The page brought its renderer down three times.'));
    await stop();
  });

  test.each([
    ['nothing', '', null],
    ['no JSON', '{', null],
    ['another type', { type: 'io.nats.jetstream.advisory.v1.consumer_action', stream_seq: 1 }, null],
    ['no sequence', { type: 'io.nats.jetstream.advisory.v1.max_deliver' }, null],
    [
      'a letter',
      { type: 'io.nats.jetstream.advisory.v1.max_deliver', stream_seq: 7, deliveries: 3 },
      { reason: 'max_deliveries', sequence: 7, deliveries: 3 },
    ],
  ])('advisory: %s', (_, body, advisory) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    expect(parseAdvisory(new TextEncoder().encode(text))).toEqual(advisory);
  });
});

const completed = () => ({
  outcome: {
    region: 'us-east',
    mimeType: 'image/png',
    fileSizeBytes: 1,
    width: 1,
    height: 1,
    capturedAt: 0,
    report: {} as never,
  } as const,
});
