import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { provision } from '@webcapture/shared/nats/provision.ts';
import { Broker } from '../../harness/broker.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { userOf } from '../../harness/nats-users.ts';
import type { ServiceName } from '../../harness/part.ts';

let broker: Broker;
const sessions: NatsSession[] = [];

async function connect(service?: ServiceName): Promise<NatsSession> {
  const user = service === undefined ? undefined : userOf(service);
  const session = await connectNats({
    url: broker.url,
    ...(user === undefined
      ? {}
      : { user: user.WEBCAPTURE_NATS_USER, password: user.WEBCAPTURE_NATS_PASSWORD, inboxPrefix: `_INBOX.${service}` }),
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  sessions.push(session);
  return session;
}

let renderer: NatsSession;
beforeAll(async () => {
  broker = await Broker.start(await mkdtemp(join(inject('tempFolder'), 'users-')), inject('tools').natsServer);
  const all = await connect();
  await provision(all.jsm, streamSettings, ['us-east']);
  const db = new Entries(all, 'db');
  for (const key of ['key.abc', 'account.a', 'idem.a.b', 'webhook.a', 'capture.a.20260101.u', 'usage.a.202601.3']) {
    await db.put(key, { of: key });
  }
  renderer = await connect('renderer');
});
afterAll(async () => {
  await Promise.all(sessions.map(({ nc }) => nc.close()));
  await broker.stop();
});

const direct = (key: string) => new Entries(renderer, 'db', 'by-subject').get(key);

describe('the user of the renderers', () => {
  test.each(['capture.a.20260101.u', 'usage.a.202601.3'])('reads %s', async (key) => {
    expect((await direct(key))?.value).toEqual({ of: key });
  });

  test.each(['key.abc', 'account.a', 'idem.a.b', 'webhook.a'])('is refused %s', async (key) => {
    await expect(direct(key)).rejects.toThrow(/permissions violation/i);
    await expect(new Entries(renderer, 'db').get(key)).rejects.toThrow(/permissions violation/i);
    await expect(new Entries(renderer, 'db').put(key, {})).rejects.toThrow(/permissions violation/i);
  });

  test.each([
    '$JS.API.DIRECT.GET.KV_db',
    '$JS.API.STREAM.INFO.KV_db',
    '$JS.API.CONSUMER.CREATE.KV_db',
    '$JS.API.STREAM.NAMES',
  ])('may not ask %s, which could tell of any key', async (subject) => {
    await expect(renderer.nc.request(subject, '{}', { timeout: 20_000 })).rejects.toThrow(/permissions violation/i);
  });

  test.each(['$KV.db.>', '_INBOX.front.>', '_INBOX.>', 'results.>', 'captures.>'])(
    'may not listen to %s',
    async (subject) => {
      const refused = new Promise<Error | null>((resolve) => {
        renderer.nc.subscribe(subject, { callback: (error) => resolve(error) });
      });
      expect(String(await refused)).toMatch(/permissions violation/i);
    },
  );
});

test('who has no password is refused', async () => {
  const stranger = connectNats({
    url: broker.url,
    user: 'renderer',
    password: 'wrong',
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  await expect(stranger).rejects.toThrow(/authorization/i);
});
