import { describe, expect, test } from 'vitest';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { backgroundShards, captureDurable, deadLetterDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { DeadLetters } from '@webcapture/shared/queue/dead-letters.ts';
import { backgroundShardOf } from '@webcapture/shared/queue/jobs.ts';
import { begin } from '@webcapture/shared/captures/transitions.ts';
import { CaptureList } from '../../../services/front/capture/capture-list.ts';
import { parseAdvisory, settleDeadLetters } from '../../../services/controller/recovery/dead-letters.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { newOutcome } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { queueCapture, type Queued } from './support/jobs.ts';
import { queueRefresh } from './support/refreshes.ts';
import { completeCapture, useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();

const unfinished =
  'No renderer finished the capture in three attempts: the page brought its renderer down, or the renderer lost its connection. Send the request again; if it fails again, the page is the cause.';

describe('dead letters:', () => {
  const lead = () => {
    const aborter = new AbortController();
    const { signal } = aborter;
    const inbox = new PullInbox(on().session);
    const done = settleDeadLetters(
      { ...on(), inbox, deadLetters: new DeadLetters(on().session), log: silentLog },
      { signal, holds: () => !signal.aborted },
    );
    let ended = false;
    void done.then(() => (ended = true));
    return async () => {
      aborter.abort();
      // The leader needs only a few responses of the server to stop. The next letter would arrive after 2 s.
      for (let answers = 0; answers < 10 && !ended; answers++) await on().letters();
      expect(ended).toBe(true);
      await done;
      inbox.close();
    };
  };
  const durable = captureDurable('us-east', 'interactive');
  const inBackground = (account: string) =>
    captureDurable('us-east', 'background', backgroundShardOf(account, backgroundShards));
  /** Lets a job be delivered three times without an acknowledgement, and pulls once again. */
  const exhaust = async (from = durable) => {
    // A running leader may settle the letter before it is counted.
    const written = async () => (await on().session.jsm.streams.info(streamNames.dead)).state.last_seq;
    const before = await written();
    await until('the job to be given up', async () => {
      (await pullOne(on().session.nc, streamNames.captures, from, 100))?.nak(10);
      return (await written()) > before;
    });
  };

  const settlement = async (capture: Queued) => {
    await until('the letter to be settled', async () => (await on().letters()) === 0);
    const record = await capture.record();
    return { ...record?.failure, waiting: await on().waiting(), counted: await on().settled('max_deliveries') };
  };
  const failedWith = (message: string) => ({
    code: 'CAPTURE_FAILED',
    message,
    cause: 'service',
    waiting: 0,
    counted: 1,
  });

  test('a job that was delivered three times without a result fails, is answered, and is removed', async () => {
    const capture = await queueCapture(on().session);
    const heard = on().listen(capture.job);
    await exhaust();
    const stop = lead();
    expect(await settlement(capture)).toEqual(failedWith(unfinished));
    const { account, uuid, failure } = (await capture.record()) ?? capture.accepted;
    expect((await heard.result).outcome).toEqual({ kind: 'failed', ...failure });
    expect(await tasking(on()).usage(account)).toMatchObject({ tokens: 0, reserved: 0, queued: 0 });
    expect(
      (await new CaptureList(on().session).list(account, { limit: 5, since: 0, now: Date.now() })).records.map(
        (each) => each.uuid,
      ),
    ).toContain(uuid);
    expect(await new DeadLetters(on().session).list()).toContainEqual({
      at: expect.any(String) as string,
      uuid,
      account,
      region: 'us-east',
      reason: 'max_deliveries',
      deliveries: 3,
    });
    await stop();
  });

  test('a job of an unknown version fails with a message that asks for an upgrade', async () => {
    const capture = await queueCapture(on().session, { priority: 'background', version: 99 });
    await exhaust(inBackground('acme'));
    const stop = lead();
    expect(await settlement(capture)).toEqual(
      failedWith('No renderer of the region knows this kind of capture. Upgrade the renderers.'),
    );
    await stop();
  });

  test('a capture that had completed stays completed', async () => {
    const capture = await queueCapture(on().session);
    await completeCapture(on().captures, capture.job.ticket, newOutcome(), Date.now() + 60_000);
    await exhaust();
    const stop = lead();
    await until('the letter to be settled', async () => (await on().letters()) === 0);
    expect((await capture.record())?.status).toBe('completed');
    expect([await on().waiting(), await on().settled('max_deliveries')]).toEqual([0, 0]);
    await stop();
  });

  test('a refresh that was delivered three times without a result fails, uncharged; its capture stays', async () => {
    const { usage } = tasking(on());
    const { job, record } = await queueRefresh(on(), 'refreshed');
    await on().captures.change(job, begin(job.revision));
    await exhaust(inBackground('refreshed'));
    const stop = lead();
    await until('the letter to be settled', async () => (await on().letters()) === 0);
    expect(await record()).toMatchObject({
      status: 'completed',
      refresh: {
        revision: 1,
        state: 'failed',
        failure: { code: 'CAPTURE_FAILED', message: unfinished, cause: 'service' },
      },
    });
    expect(await usage('refreshed')).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
    expect([await on().waiting(), await on().settled('max_deliveries')]).toEqual([0, 1]);
    await stop();
  });

  test('letters about removed jobs, and messages that are no letters, are removed', async () => {
    const capture = await queueCapture(on().session, { priority: 'background' });
    (await pullOne(on().session.nc, streamNames.captures, inBackground('acme'), 5000))?.terminate('not a job');
    await until('the advisory', async () => (await on().letters()) === 1);
    on().session.nc.publish(`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${streamNames.captures}.x`, 'no json');
    await until('the other', async () => (await on().letters()) === 2);
    const stop = lead();
    await until('both to be settled', async () => (await on().letters()) === 0);
    // The renderer that terminates a job records why. The server has removed the job by then.
    expect((await capture.record())?.status).toBe('queued');
    await stop();
  });

  test('a durable consumer that is created or recreated later is served', async () => {
    await on().session.jsm.consumers.delete(streamNames.dead, deadLetterDurable);
    const stop = lead();
    await on().session.jsm.consumers.add(streamNames.dead, { durable_name: deadLetterDurable, ack_policy: 'explicit' });
    const capture = await queueCapture(on().session);
    await exhaust();
    expect(await settlement(capture)).toEqual(failedWith(unfinished));
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
  ])('parseAdvisory of %s returns an advisory or null', (_, body, advisory) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    expect(parseAdvisory(new TextEncoder().encode(text))).toEqual(advisory);
  });
});
