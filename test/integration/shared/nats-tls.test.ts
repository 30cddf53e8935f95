import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectNats, type NatsOptions } from '@webcapture/shared/nats/connect.ts';
import type { ConnectionProblem } from '@webcapture/shared/nats/connection-problem.ts';
import { readCommonConfig } from '@webcapture/shared/runtime/config.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { freePort } from '../../harness/free-port.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { userOf } from '../../harness/nats-users.ts';
import { startTlsNats, type TlsNats } from '../../harness/tls-nats.ts';

const unused = await freePort();
let nats: TlsNats;
let mutual: TlsNats;
let first: TlsNats;
beforeAll(async () => {
  [nats, mutual, first] = await Promise.all([
    startTlsNats(),
    startTlsNats('verify: true'),
    startTlsNats('handshake_first: true'),
  ]);
});
afterAll(async () => {
  for (const server of [nats, mutual, first]) await server[Symbol.asyncDispose]();
});

/** The connection options of a service with these variables. */
function optionsOf(server: { readonly url: string }, variables: Readonly<Record<string, string>>): NatsOptions {
  const env = { WEBCAPTURE_NATS_URL: server.url, ...userOf('front'), ...variables };
  const { nats: settings } = new EnvReader(env).finish(() => readCommonConfig(new EnvReader(env), { opsPort: 0 }));
  const signal = AbortSignal.timeout(20_000);
  return { ...settings, name: 'test', inboxPrefix: '_INBOX.front', log: silentLog, signal };
}

const trusted = (server: TlsNats) => ({
  WEBCAPTURE_NATS_CA_FILE: server.files.ca,
  WEBCAPTURE_NATS_TLS_SERVER_NAME: 'nats.test',
});
const client = (server: TlsNats) => ({
  WEBCAPTURE_NATS_CERT_FILE: server.files.clientCert,
  WEBCAPTURE_NATS_KEY_FILE: server.files.clientKey,
});

async function isConnected(options: NatsOptions): Promise<boolean> {
  const session = await connectNats(options);
  await session.nc.flush();
  const { encrypted } = (session.nc as unknown as { protocol: { transport: { socket: { encrypted?: boolean } } } })
    .protocol.transport.socket;
  await session.nc.close();
  return encrypted === true;
}

describe('a service connects to NATS over TLS', () => {
  test('with a CA file and the name of the server', async () => {
    expect(await isConnected(optionsOf(nats, trusted(nats)))).toBe(true);
  });

  test('with a client certificate', async () => {
    expect(await isConnected(optionsOf(mutual, { ...trusted(mutual), ...client(mutual) }))).toBe(true);
  });

  test('with the TLS handshake first', async () => {
    expect(await isConnected(optionsOf(first, { ...trusted(first), WEBCAPTURE_NATS_TLS_FIRST: 'on' }))).toBe(true);
  });
});

/** Returns the first problem that the connection reports. */
async function problemOf(options: NatsOptions): Promise<ConnectionProblem> {
  const stop = new AbortController();
  const problem = new Promise<ConnectionProblem>((resolve) => {
    const onProblem = (found: ConnectionProblem) => {
      stop.abort();
      resolve(found);
    };
    connectNats({ ...options, signal: stop.signal, onProblem }).then(
      async ({ nc }) => {
        await nc.close();
        resolve({ reason: 'FleetUnreachable', message: 'it connected' });
      },
      () => undefined,
    );
  });
  return problem;
}

describe('a connection problem has a specific reason and message:', () => {
  test.each<[string, () => NatsOptions, ConnectionProblem['reason'], RegExp]>([
    [
      'another authority',
      () => optionsOf(nats, { ...trusted(nats), WEBCAPTURE_NATS_CA_FILE: nats.files.otherCa }),
      'CertificateInvalid',
      /failed \(unable to verify the first certificate.*WEBCAPTURE_NATS_CA_FILE/,
    ],
    [
      'no file of an authority',
      () => optionsOf(nats, { ...trusted(nats), WEBCAPTURE_NATS_CA_FILE: '/no/such/ca.crt' }),
      'CertificateInvalid',
      /\/no\/such\/ca.crt doesn't exist/,
    ],
    [
      'another name of the server',
      () => optionsOf(nats, { WEBCAPTURE_NATS_CA_FILE: nats.files.ca }),
      'CertificateInvalid',
      /does not match certificate's altnames.*WEBCAPTURE_NATS_TLS_SERVER_NAME/,
    ],
    [
      'another password',
      () => optionsOf(nats, { ...trusted(nats), WEBCAPTURE_NATS_PASSWORD: 'wrong' }),
      'AuthenticationFailed',
      /refuses front \('?Authorization Violation'?\): the server has no such user, or another password/i,
    ],
    [
      'no server at the address',
      () => optionsOf({ url: `tls://127.0.0.1:${unused}` }, trusted(nats)),
      'FleetUnreachable',
      /there is no connection to NATS at tls:\/\/127\.0\.0\.1:\d+ \(.*ECONNREFUSED/,
    ],
  ])('%s', async (_, options, reason, message) => {
    const problem = await problemOf(options());
    expect([problem.reason, problem.message]).toEqual([reason, expect.stringMatching(message)]);
  });

  test('a password in the address is not part of the message', async () => {
    const options = optionsOf(
      { url: nats.testerUrl },
      { ...trusted(nats), WEBCAPTURE_NATS_CA_FILE: nats.files.otherCa },
    );
    const { message } = await problemOf(options);
    expect(message).not.toContain(new URL(nats.testerUrl).password);
  });
});
