import { describe, expect, test } from 'vitest';
import { Deliveries } from '@webcapture/shared/accounts/deliveries.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { DeadLetters } from '@webcapture/shared/queue/dead-letters.ts';
import { Statistics, UsageHistory } from '@webcapture/shared/statistics/statistics.ts';
import { CaptureEvents } from '../../../services/front/events/capture-events.ts';
import { newFile, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { isDeaf, isRefused, useNatsUsers } from './support/nats-users.ts';

const { broker, all, front, controller } = useNatsUsers();

describe('a front', () => {
  test('watches the records of captures, and no other records', async () => {
    const violations = broker().violations().length;
    const heard: string[] = [];
    const stop = new AbortController();
    const listener = { onChange: ({ uuid }: { uuid: string }) => void heard.push(uuid), onLost: () => undefined };
    await new CaptureEvents(front(), stop.signal).listen('watched', listener, stop.signal);
    const record = newRecord({ account: 'watched' });
    await new Captures(all()).create(record);
    await until('the record to be heard', () => heard.includes(record.uuid));
    const consumers = async () => (await all().jsm.streams.info('KV_db')).state.consumer_count;
    stop.abort();
    await until('the watch to be gone', async () => (await consumers()) === 0);
    expect(broker().violations().slice(violations)).toEqual([]);
    await isRefused(front(), '$JS.API.CONSUMER.CREATE.KV_db.name.$KV.db.key.>');
  });

  test('stores a file of its own, such as a picture of differences, and removes it', async () => {
    const store = new EmbeddedStore(front());
    const { name, size } = await store.create(newFile(300_000));
    expect((await store.stat(name))?.size).toBe(size);
    await store.remove(name);
    expect(await store.stat(name)).toBeNull();
  });

  test.each([
    '$JS.API.CONSUMER.MSG.NEXT.CAPTURES.us-east-interactive',
    '$JS.API.CONSUMER.MSG.NEXT.TASKS.tasks-expiry',
    '$JS.ACK.CAPTURES.us-east-interactive.1.1.1.1700000000000000000.0',
    '$JS.API.CONSUMER.DELETE.CAPTURES.us-east-interactive',
    '$JS.API.CONSUMER.CREATE.KV_db.name',
    '$JS.API.CONSUMER.CREATE.KV_db.name.$KV.db.>',
    '$JS.API.CONSUMER.CREATE.KV_db.name.$KV.db.key.>',
    ...Object.values(streamNames).flatMap((stream) =>
      ['CREATE', 'UPDATE', 'DELETE', 'SNAPSHOT'].map((call) => `$JS.API.STREAM.${call}.${stream}`),
    ),
    '$JS.API.STREAM.PURGE.KV_db',
    '$JS.API.STREAM.MSG.DELETE.KV_db',
    '$KV.live.leader',
    '$KV.live.status',
    '$KV.live.fleet.us-east.pod',
    'results.us-east.a',
    'replies.us-east.front.a',
    '$SYS.REQ.SERVER.PING',
  ])('may not publish to %s', async (subject) => {
    await isRefused(front(), subject);
  });

  test.each(['_INBOX.>', '_INBOX.controller.>', 'captures.>', 'files.>', '$SYS.>'])(
    'may not subscribe to %s',
    async (subject) => {
      await isDeaf(front(), subject);
    },
  );
});

describe('a controller', () => {
  test('writes deliveries, dead letters and statistics', async () => {
    await new Deliveries(controller()).add('noted', []);
    const letter = {
      at: new Date(0).toISOString(),
      uuid: 'u',
      account: 'a',
      region: 'us-east',
      deliveries: 3,
    } as const;
    await new DeadLetters(controller()).add({ ...letter, reason: 'terminated' });
    const statistics = new Statistics(controller(), () => undefined);
    const before = newRecord({ account: 'noted' });
    const failure = { code: 'CAPTURE_FAILED', message: 'It failed.', cause: 'service' } as const;
    statistics.changed(before, { ...before, status: 'failed', failure, endedAt: before.acceptedAt });
    await statistics.flush();
    // The server may log violations of the tests above only now.
    expect(
      broker()
        .violations()
        .filter((line) => line.includes('/user:controller"')),
    ).toEqual([]);
    const [today] = await new UsageHistory(front()).read('noted', 1, before.acceptedAt);
    expect(today?.day.failed).toBe(1);
  });

  test.each([
    'results.us-east.a',
    '$JS.ACK.RESULTS.settle.1.1.1.1700000000000000000.0',
    '$KV.db.key.abc',
    '$KV.db.linksecret.abc',
    '$KV.db.account.a',
    '_INBOX.front.a',
    '$SYS.REQ.SERVER.PING',
  ])('may not publish to %s', async (subject) => {
    await isRefused(controller(), subject);
  });

  test.each(['_INBOX.>', '_INBOX.front.>', 'captures.>', 'results.>', '$SYS.>'])(
    'may not subscribe to %s',
    async (subject) => {
      await isDeaf(controller(), subject);
    },
  );
});
