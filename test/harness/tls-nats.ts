import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { startNats, type NatsServer } from '../../deploy/local/nats.ts';
import { freePort } from './free-port.ts';
import { natsCertificates } from './nats-certificates.ts';
import { asTester, usersConfig } from './nats-users.ts';

/** A real nats-server that requires TLS, like the hub of satellites. */
export interface TlsNats extends AsyncDisposable {
  /** `tls://`, without a user. The certificate is for `nats.test`. */
  readonly url: string;
  /** {@link url} with the user name and password of the test user. */
  readonly testerUrl: string;
  readonly port: number;
  /** Paths of certificates, by their names in {@link natsCertificates}. */
  readonly files: Readonly<Record<keyof typeof natsCertificates, string>>;
}

/** @param tls further lines of the block `tls`, e.g. `verify: true` */
export async function startTlsNats(tls = ''): Promise<TlsNats> {
  const folder = await mkdtemp(join(inject('tempFolder'), 'tls-nats-'));
  const paths = Object.keys(natsCertificates).map((name) => [name, join(folder, `${name}.pem`)] as const);
  const files = Object.fromEntries(paths) as TlsNats['files'];
  for (const [name, path] of paths) await writeFile(path, natsCertificates[name as keyof typeof files]);
  const { ca, serverCert, serverKey } = files;
  const block = `tls { cert_file: "${serverCert}", key_file: "${serverKey}", ca_file: "${ca}"\n${tls}\n}\n`;
  const port = await freePort();
  const server: NatsServer = await startNats({
    dataDir: join(folder, 'data'),
    toolPath: inject('tools').natsServer,
    port,
    config: `${usersConfig}${block}`,
  });
  return {
    url: `tls://127.0.0.1:${port}`,
    testerUrl: asTester(`tls://127.0.0.1:${port}`),
    port,
    files,
    [Symbol.asyncDispose]: async () => void (await server.process.stop({ graceMs: 0 })),
  };
}
