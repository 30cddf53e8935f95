import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nkeys } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { ConnectionProblem } from '@webcapture/shared/nats/connection-problem.ts';
import { readCommonConfig } from '@webcapture/shared/runtime/config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { type NatsServer, startNats } from '../../../deploy/local/nats.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { OperatorMode } from '../../harness/operator-mode.ts';
import { until } from '../../harness/until.ts';

const operator = new OperatorMode();
const nkeyUser = nkeys.createUser();
const seedOf = (key: nkeys.KeyPair) => Buffer.from(key.getSeed()).toString();

let folder: string;
let withNkeys: NatsServer;
let withJwts: NatsServer;
beforeAll(async () => {
  folder = await mkdtemp(join(inject('tempFolder'), 'login-files-'));
  const start = (name: string, config: string) =>
    startNats({ dataDir: join(folder, name), toolPath: inject('tools').natsServer, config });
  [withNkeys, withJwts] = await Promise.all([
    start('nkeys', `authorization: { users: [{ nkey: ${nkeyUser.getPublicKey()} }] }\n`),
    start('jwts', operator.config),
  ]);
});
afterAll(async () => {
  for (const server of [withNkeys, withJwts]) await server.process.stop({ graceMs: 0 });
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** Connects as a service with these variables does. */
function open(
  server: NatsServer,
  variables: Readonly<Record<string, string>>,
  { signal = AbortSignal.timeout(60_000), onProblem }: Partial<Parameters<typeof connectNats>[0]> = {},
): Promise<NatsSession> {
  const env = new EnvReader({ WEBCAPTURE_NATS_URL: server.url, ...variables });
  const { nats } = env.finish(() => readCommonConfig(env, { opsPort: 0 }));
  const watched = onProblem === undefined ? {} : { onProblem };
  return connectNats({ ...nats, name: 'test', log: silentLog, signal, ...watched });
}

/** Returns the name of the user by whom the server knows a connection. */
async function userOf({ nc }: NatsSession): Promise<string> {
  const info = await nc.request('$SYS.REQ.USER.INFO', '', { timeout: 5000 });
  return info.json<{ data: { user: string } }>().data.user;
}

test('a service connects with the seed of an NKey', async () => {
  const session = await open(withNkeys, { WEBCAPTURE_NATS_NKEY_SEED_FILE: await file('user.nk', seedOf(nkeyUser)) });
  expect(await userOf(session)).toBe(nkeyUser.getPublicKey());
  await session.jsm.streams.add({ name: 'A', subjects: ['a'] });
  await session.nc.close();
});

test('a service connects with a creds file in operator mode', async () => {
  const user = operator.user();
  const session = await open(withJwts, { WEBCAPTURE_NATS_CREDS_FILE: await file('user.creds', user.creds) });
  expect(await userOf(session)).toBe(user.publicKey);
  await session.jsm.streams.add({ name: 'A', subjects: ['a'] });
  await session.nc.close();
});

test('a service connects with a seed and a JWT in two files', async () => {
  const user = operator.user();
  const session = await open(withJwts, {
    WEBCAPTURE_NATS_NKEY_SEED_FILE: await file('two.nk', user.seed),
    WEBCAPTURE_NATS_JWT_FILE: await file('two.jwt', user.jwt),
  });
  expect(await userOf(session)).toBe(user.publicKey);
  await session.nc.close();
});

test('a service whose JWT expires reconnects when its creds file is replaced', async () => {
  const first = operator.user(Math.floor(Date.now() / 1000) + 3);
  const second = operator.user();
  const path = await file('rotated.creds', first.creds);
  const session = await open(withJwts, { WEBCAPTURE_NATS_CREDS_FILE: path });
  expect(await userOf(session)).toBe(first.publicKey);
  let refusals = 0;
  session.onStatus(({ type }) => (refusals += type === 'error' ? 1 : 0));
  await until('the server to refuse the expired JWT twice', () => refusals > 1 && !session.connected());
  await writeFile(path, second.creds);
  await until('the connection with the new file', () => session.connected());
  expect(await userOf(session)).toBe(second.publicKey);
  await session.nc.close();
});

describe('a connection problem names the file of the login:', () => {
  test.each<[string, () => NatsServer, () => Promise<Readonly<Record<string, string>>>, RegExp]>([
    [
      'the seed of another user',
      () => withNkeys,
      async () => ({ WEBCAPTURE_NATS_NKEY_SEED_FILE: await file('other.nk', operator.user().seed) }),
      /refuses the user of \S+other\.nk \(.*Authorization Violation.*\): the server has no user with this NKey/,
    ],
    [
      'a JWT of another operator',
      () => withJwts,
      async () => ({ WEBCAPTURE_NATS_CREDS_FILE: await file('other.creds', new OperatorMode().user().creds) }),
      /refuses the user of \S+other\.creds \(.*Authorization Violation.*\): its JWT has expired or was revoked/,
    ],
    [
      'an expired JWT',
      () => withJwts,
      async () => ({ WEBCAPTURE_NATS_CREDS_FILE: await file('expired.creds', operator.user(1).creds) }),
      /refuses the user of \S+expired\.creds .*: its JWT has expired/,
    ],
  ])('%s', async (_, server, variables, message) => {
    const env = await variables();
    await expect(open(server(), env)).rejects.toThrow(message);
    const stop = new AbortController();
    const problems: ConnectionProblem[] = [];
    const onProblem = (problem: ConnectionProblem) => {
      problems.push(problem);
      stop.abort();
    };
    await expect(open(server(), env, { signal: stop.signal, onProblem })).rejects.toThrow();
    expect(problems.map(({ reason }) => reason)).toEqual(['AuthenticationFailed']);
  });
});
