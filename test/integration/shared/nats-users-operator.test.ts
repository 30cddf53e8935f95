import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { isDeaf, isRefused, useNatsUsers } from './support/nats-users.ts';

const { broker, all, connectAs } = useNatsUsers();

let operator: NatsSession;
beforeAll(async () => {
  operator = await connectAs('operator');
  const entries = { account: ['a'], key: ['abc'], secret: ['tickets'], webhook: ['a'], linksecret: ['abc'] };
  for (const [kind, names] of Object.entries(entries)) {
    for (const name of names) await new Entries(all(), 'db').put(`${kind}.${name}`, { of: name });
  }
  await new Entries(all(), 'live').put('config', { regions: 'us-east:1' });
});
afterAll(() => operator.nc.close());

describe('an operator', () => {
  test('inspects streams, consumers and the account, and reads the state without a violation', async () => {
    const { jsm } = operator;
    const before = broker().violations().length;
    const streams = await jsm.streams.list().next();
    expect(streams.map(({ config }) => config.name).toSorted()).toEqual(Object.values(streamNames).toSorted());
    expect((await jsm.streams.info('KV_db', { subjects_filter: '>' })).state.subjects).toHaveProperty([
      '$KV.db.key.abc',
    ]);
    expect((await jsm.consumers.list('RESULTS').next()).map(({ name }) => name)).toContain('settle');
    expect((await jsm.consumers.info('RESULTS', 'settle')).num_pending).toBe(0);
    expect((await jsm.getAccountInfo()).streams).toBe(streams.length);
    expect((await jsm.direct.getMessage('KV_live', { last_by_subj: '$KV.live.config' }))?.json()).toMatchObject({
      regions: 'us-east:1',
    });
    expect((await jsm.direct.getMessage('KV_db', { last_by_subj: '$KV.db.account.a' }))?.json()).toEqual({ of: 'a' });
    expect(broker().violations().slice(before)).toEqual([]);
  });

  test.each([
    ...['key.abc', 'secret.tickets', 'webhook.a', 'linksecret.abc'].map(
      (key) => `$JS.API.DIRECT.GET.KV_db.$KV.db.${key}`,
    ),
    '$JS.API.DIRECT.GET.KV_db',
    '$JS.API.CONSUMER.CREATE.KV_db.name.$KV.db.>',
    ...Object.values(streamNames).flatMap((stream) =>
      ['CREATE', 'UPDATE', 'DELETE', 'PURGE', 'SNAPSHOT', 'RESTORE', 'MSG.GET', 'MSG.DELETE'].map(
        (call) => `$JS.API.STREAM.${call}.${stream}`,
      ),
    ),
    '$JS.API.CONSUMER.DELETE.RESULTS.settle',
    '$JS.API.CONSUMER.MSG.NEXT.RESULTS.settle',
    '$JS.API.CONSUMER.MSG.NEXT.CAPTURES.us-east-interactive',
    '$JS.ACK.RESULTS.settle.1.1.1.1700000000000000000.0',
    '$KV.db.account.a',
    '$KV.live.config',
    'captures.us-east.interactive.a',
    '$SYS.REQ.SERVER.PING.JSZ',
  ])('may not publish to %s', async (subject) => {
    await isRefused(operator, subject);
  });

  test.each(['_INBOX.>', '_INBOX.front.>', 'captures.>', 'results.>', '$KV.>', '$SYS.>'])(
    'may not subscribe to %s',
    async (subject) => {
      await isDeaf(operator, subject);
    },
  );
});
