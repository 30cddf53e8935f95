import { randomUUIDv7 } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { captureSubject, jobMaxDeliveries, streamNames } from '@webcapture/shared/nats/streams.ts';
import { BrowserLostError } from '../../../services/renderer/browser/page.ts';
import { until } from '../../harness/until.ts';
import { messagesOf, picture, rendersIn, uuidOf } from './support/renderer.ts';
import { failing, useRenderers } from './support/use-renderers.ts';

const { nats, queue, start, settled } = useRenderers();

describe('when a browser is lost', () => {
  const lost = new ServiceError('CAPTURE_FAILED', 'The browser went away.', {
    causedBy: 'service',
    cause: new BrowserLostError(),
  });

  test('its job is delivered again and rendered in its own browser', async () => {
    let turn = 0;
    const renderer = await start({ render: () => (++turn === 1 ? Promise.reject(lost) : Promise.resolve(picture())) });
    await queue().publish();
    expect(await settled(1)).toMatchObject([{ kind: 'completed' }]);
    expect(renderer.rendered.map(({ ownBrowser }) => ownBrowser)).toEqual([false, true]);
    expect(renderer.taken.map(({ delivery }) => delivery)).toEqual([1, 2]);
    expect(renderer.ended).toHaveLength(1);
  });

  test('at every delivery, the last delivery fails the capture', async () => {
    const renderer = await start({ render: failing(lost) });
    await queue().publish();
    expect(await settled(1)).toMatchObject([{ kind: 'failed', code: 'CAPTURE_FAILED' }]);
    expect(renderer.taken.map(({ delivery }) => delivery)).toEqual([1, 2, 3].slice(0, jobMaxDeliveries));
  });
});

describe('a job is returned', () => {
  const subject = captureSubject('us-east', 'interactive');

  test('when the renderer stops before it has ended, without using up a delivery', async () => {
    const renderer = await start({ render: rendersIn(60_000) });
    const job = await queue().publish({ priority: 'background' });
    await until('it to be rendered', () => renderer.rendered.length === 1);
    await renderer.stop(100);
    expect(await settled(1)).toEqual([{ kind: 'returned', reason: 'shutting_down' }]);
    // A front queues a returned job in this way.
    await queue().jobs.publish(job, { attempt: '2' });
    const next = await start();
    await settled(2);
    expect(next.taken[0]?.delivery).toBe(1);
  });

  test('when no slot is free, without using up a delivery', async () => {
    const renderer = await start({ render: rendersIn(60_000) });
    await until('it to wait', async () => (await queue().interactive()).num_waiting === 1);
    // The server still has the request for an interactive job when its slot is in use.
    await queue().publish({ priority: 'background' });
    await until('it to be rendered', () => renderer.rendered.length === 1);
    const job = await queue().publish();
    await until('it to be given back', async () => (await queue().outcomes()).length === 1);
    expect(await queue().outcomes()).toEqual([{ kind: 'returned', reason: 'no_free_slot' }]);
    await until('it to be out of the queue', async () => (await queue().queued()) === 1);
    await queue().jobs.publish(job, { attempt: '2' });
    const other = await start();
    await until('another one to render it', () => other.taken.some((message) => uuidOf(message) === job.uuid));
    expect(other.taken.find((message) => uuidOf(message) === job.uuid)?.delivery).toBe(1);
  });

  test('when the browser is gone', async () => {
    let isUp = true;
    const renderer = await start({ ready: () => isUp });
    await until('it to wait', async () => (await queue().interactive()).num_waiting === 1);
    isUp = false;
    await queue().publish();
    await until('it to be given back', async () => (await queue().outcomes()).length === 1);
    expect(renderer.rendered).toHaveLength(0);
    isUp = true;
    await queue().publish();
    await until('the next one to be rendered', () => renderer.rendered.length === 1);
  });

  test('when its version is unknown', async () => {
    const renderer = await start();
    const job = { version: 99, uuid: randomUUIDv7(), revision: 0, region: 'us-east', ticket: 'a.b' };
    await nats().session.js.publish(subject, JSON.stringify(job));
    expect(await settled(1)).toEqual([{ kind: 'returned', reason: 'unknown_version' }]);
    expect((await queue().results())[0]?.ticket).toBe('a.b');
    expect(renderer.rendered).toHaveLength(0);
  });

  const withoutTicket = JSON.stringify({ version: 99, uuid: randomUUIDv7(), revision: 0, region: 'us-east' });
  test.each(['no json', 'null', '[]', '{"version":2}', withoutTicket])('or terminated if it is %s', async (data) => {
    const renderer = await start();
    const before = (await messagesOf(nats().session, streamNames.dead)).length;
    await nats().session.js.publish(subject, data);
    await until(
      'it to be terminated',
      async () => (await messagesOf(nats().session, streamNames.dead)).length > before,
    );
    expect(renderer.taken).toHaveLength(1);
    expect((await queue().interactive()).num_ack_pending).toBe(0);
    expect(await queue().results()).toEqual([]);
  });
});
