import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { nkeys } from '@nats-io/nats-core';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { Broker } from '../../harness/broker.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { silentLog } from '../../harness/nats-session.ts';

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

/** A JWT as NATS servers in operator mode accept it. */
function jwt(issuer: nkeys.KeyPair, subject: nkeys.KeyPair, nats: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const keys = { iss: issuer.getPublicKey(), sub: subject.getPublicKey() };
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ ...keys, iat: 1, nats: { ...nats, version: 2 } })}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}

test('the password can be the credentials of a user in operator mode', async () => {
  const [operator, system, account, user] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
    nkeys.createUser(),
  ] as const;
  const none = { subs: -1, data: -1, payload: -1 };
  const limits = { ...none, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const jetStream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const config = {
    operator: jwt(operator, operator, { type: 'operator', system_account: system.getPublicKey() }),
    system_account: system.getPublicKey(),
    resolver: 'MEMORY',
    resolver_preload: {
      [system.getPublicKey()]: jwt(operator, system, { type: 'account', limits }),
      [account.getPublicKey()]: jwt(operator, account, { type: 'account', limits: { ...limits, ...jetStream } }),
    },
  };
  const server = await startNats({
    dataDir: await mkdtemp(join(inject('tempFolder'), 'operator-mode-')),
    toolPath: inject('tools').natsServer,
    config: JSON.stringify(config).slice(1, -1),
  });
  onTestFinished(async () => void (await server.process.stop({ graceMs: 0 })));
  const credentials = [
    '-----BEGIN NATS USER JWT-----',
    jwt(account, user, { type: 'user', pub: {}, sub: {}, ...none }),
    '------END NATS USER JWT------',
    '-----BEGIN USER NKEY SEED-----',
    Buffer.from(user.getSeed()).toString(),
    '------END USER NKEY SEED------',
  ].join('\n');
  const open = (password: string) =>
    connectNats({
      url: server.url,
      user: 'front',
      password,
      name: 'test',
      log: silentLog,
      signal: AbortSignal.timeout(30_000),
    });
  const session = await open(credentials);
  await session.jsm.streams.add({ name: 'A', subjects: ['a'] });
  await session.nc.close();
  await expect(open('a password')).rejects.toThrow(/authorization/i);
});
