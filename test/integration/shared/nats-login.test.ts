import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { Broker } from '../../harness/broker.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { OperatorMode } from '../../harness/operator-mode.ts';

let broker: Broker;
beforeAll(async () => {
  broker = await Broker.start(await mkdtemp(join(inject('tempFolder'), 'login-')), inject('tools').natsServer);
});
afterAll(() => broker.stop());

test('an address can contain the user, and a separate user takes precedence', async () => {
  const { hostname, port, username, password } = new URL(broker.url);
  const named = (user: string, secret: string) => `nats://${user}:${encodeURIComponent(secret)}@${hostname}:${port}`;
  const open = (url: string, user?: { user: string; password: string }) =>
    connectNats({ url, ...user, name: 'test', log: silentLog, signal: AbortSignal.timeout(30_000) });
  // The NATS client would read the port 12 from such an address.
  await expect(open(named('front', '12 @/:,wrong'))).rejects.toThrow(/authorization/i);
  const session = await open(`${named('front', 'wrong')},${hostname}:${port}`, { user: username, password });
  expect(session.nc.getServer()).toBe(`${hostname}:${port}`);
  await session.nc.close();
  await expect(open(`nats://${hostname}:${port}`)).rejects.toThrow(/authorization/i);
});

test('a user with a wrong password is refused', async () => {
  const unknown = connectNats({
    url: broker.url,
    user: 'renderer-us-east',
    password: 'wrong',
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  await expect(unknown).rejects.toThrow(/authorization/i);
});

test('the password can be the credentials of a user in operator mode', async () => {
  const operator = new OperatorMode();
  const server = await startNats({
    dataDir: await mkdtemp(join(inject('tempFolder'), 'operator-mode-')),
    toolPath: inject('tools').natsServer,
    config: operator.config,
  });
  onTestFinished(async () => void (await server.process.stop({ graceMs: 0 })));
  const open = (password: string) =>
    connectNats({
      url: server.url,
      user: 'front',
      password,
      name: 'test',
      log: silentLog,
      signal: AbortSignal.timeout(30_000),
    });
  const session = await open(operator.user().creds);
  await session.jsm.streams.add({ name: 'A', subjects: ['a'] });
  await session.nc.close();
  await expect(open('a password')).rejects.toThrow(/authorization/i);
});
