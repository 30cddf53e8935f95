import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { provision } from '../../../../services/controller/streams.ts';
import { Broker } from '../../../harness/broker.ts';
import { silentLog, streamSettings } from '../../../harness/nats-session.ts';
import { userOf } from '../../../harness/nats-users.ts';

/** Gives the tests of a file one nats-server with all streams, and a session of each of its users. */
export function useNatsUsers() {
  let broker: Broker;
  let all: NatsSession;
  let renderer: NatsSession;
  let front: NatsSession;
  let controller: NatsSession;

  const connect = (login: { user?: string; password?: string; inboxPrefix?: string } = {}) =>
    connectNats({ url: broker.url, ...login, name: 'test', log: silentLog, signal: AbortSignal.timeout(30_000) });
  function connectAs(
    service: 'renderer' | 'satellite' | 'front' | 'controller' | 'operator',
    region?: Region,
  ): Promise<NatsSession> {
    const user = userOf(service, region);
    return connect({
      user: user.WEBCAPTURE_NATS_USER,
      password: user.WEBCAPTURE_NATS_PASSWORD,
      inboxPrefix: `_INBOX.${service}${region === undefined ? '' : `.${region}`}`,
    });
  }

  beforeAll(async () => {
    broker = await Broker.start(await mkdtemp(join(inject('tempFolder'), 'users-')), inject('tools').natsServer);
    all = await connect();
    await provision(all.jsm, streamSettings, ['us-east', 'eu-west']);
    const db = new Entries(all, 'db');
    for (const key of ['key.abc', 'capture.a.20260101.u', 'usage.a.202601.3']) {
      await db.put(key, { of: key });
    }
    renderer = await connectAs('renderer', 'us-east');
    front = await connectAs('front');
    controller = await connectAs('controller');
  });
  afterAll(async () => {
    await Promise.all([all, renderer, front, controller].map(({ nc }) => nc.close()));
    await broker.stop();
  });

  return {
    broker: () => broker,
    /** The session of a user that may do everything. */
    all: () => all,
    /** The session of a renderer of us-east. */
    renderer: () => renderer,
    front: () => front,
    controller: () => controller,
    /** A further session of a user, which the caller closes. */
    connectAs,
  };
}

/** Expects the server to refuse what a session publishes. */
export const isRefused = (session: NatsSession, subject: string) =>
  expect(session.nc.request(subject, '{}', { timeout: 20_000 })).rejects.toThrow(/permissions violation/i);

/** Expects the server to refuse a subscription of a session. */
export async function isDeaf(session: NatsSession, subject: string, queue?: string): Promise<void> {
  const refused = new Promise<Error | null>((resolve) => {
    session.nc.subscribe(subject, { callback: (error) => resolve(error), ...(queue === undefined ? {} : { queue }) });
  });
  expect(String(await refused)).toMatch(/permissions violation/i);
}
