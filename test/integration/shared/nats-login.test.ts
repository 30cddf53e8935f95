import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { Broker } from '../../harness/broker.ts';
import { silentLog } from '../../harness/nats-session.ts';

let broker: Broker;
beforeAll(async () => {
  broker = await Broker.start(await mkdtemp(join(inject('tempFolder'), 'login-')), inject('tools').natsServer);
});
afterAll(() => broker.stop());

test('an address can name the user, and a user beside it counts first', async () => {
  const { hostname, port, username, password } = new URL(broker.url);
  const named = (user: string, secret: string) => `nats://${user}:${encodeURIComponent(secret)}@${hostname}:${port}`;
  const open = (url: string, user?: { user: string; password: string }) =>
    connectNats({ url, ...user, name: 'test', log: silentLog, signal: AbortSignal.timeout(30_000) });
  // The client would take the port 12 out of such an address.
  await expect(open(named('front', '12 @/:,wrong'))).rejects.toThrow(/authorization/i);
  const session = await open(`${named('front', 'wrong')},${hostname}:${port}`, { user: username, password });
  expect(session.nc.getServer()).toBe(`${hostname}:${port}`);
  await session.nc.close();
  await expect(open(`nats://${hostname}:${port}`)).rejects.toThrow(/authorization/i);
});

test('who has no password is refused', async () => {
  const stranger = connectNats({
    url: broker.url,
    user: 'renderer-us-east',
    password: 'wrong',
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  await expect(stranger).rejects.toThrow(/authorization/i);
});
