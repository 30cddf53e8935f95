import { X509Certificate } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, expect, inject, test } from 'vitest';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { readCaBundle, trustCaBundle } from '@webcapture/shared/runtime/ca-bundle.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { sendEvent } from '../../../services/controller/jobs/webhooks/send.ts';
import { natsCertificates } from '../../harness/nats-certificates.ts';
import { listen, publicAddress } from '../egress/sites.ts';

const known = getCACertificates('default');
afterEach(() => setDefaultCACertificates(known));

const fingerprintOf = (pem: string) => new X509Certificate(pem).fingerprint256;

const { ca, otherCa, serverCert: cert, serverKey: key } = natsCertificates;

function read(file: string) {
  const env = new EnvReader({ WEBCAPTURE_CA_BUNDLE: file });
  return env.finish(() => ({ bundle: readCaBundle(env) })).bundle;
}

async function fileOf(text: string): Promise<string> {
  const file = join(await mkdtemp(join(inject('tempFolder'), 'ca-')), 'ca.pem');
  await writeFile(file, text);
  return file;
}

test('webhooks trust the authorities of the bundle in addition to public ones', async () => {
  const receiver = await listen(
    createServer({ cert, key }, (_, response) => response.writeHead(204).end()),
    publicAddress,
  );
  try {
    const lookup = async () => [{ address: publicAddress, family: 4 as const }];
    const policy = createEgressPolicy({ allow: [publicAddress], lookup });
    const send = () => sendEvent(`https://nats.test:${receiver.port}/`, { headers: {}, body: '{}' }, { policy });
    expect(await send()).toMatchObject({
      delivered: false,
      reason: expect.stringContaining('the certificate is refused'),
    });
    const bundle = read(await fileOf(`# two authorities\n${otherCa}\n${ca}\n`));
    if (bundle === undefined) throw new Error('there is no bundle');
    trustCaBundle(bundle);
    expect(await send()).toEqual({ delivered: true, status: 204 });
    const trusted = new Set(getCACertificates('default').map(fingerprintOf));
    expect(known.filter((pem) => !trusted.has(fingerprintOf(pem)))).toEqual([]);
  } finally {
    await receiver.close();
  }
});

test.each([
  ['', 'must be a file that contains certificates in PEM, but it contains none'],
  ['no certificate', 'must be a file that contains certificates in PEM, but it contains none'],
  [`${ca}\n${otherCa.replace('MIIB', 'AAAA')}`, 'certificate 2 is not valid'],
])('a bundle of %j stops the start', async (text, message) => {
  const file = await fileOf(text);
  expect(() => read(file)).toThrow(`WEBCAPTURE_CA_BUNDLE must be a file`);
  expect(() => read(file)).toThrow(message);
});

test('a bundle that cannot be read stops the start', () => {
  expect(() => read('/nowhere/ca.pem')).toThrow(/WEBCAPTURE_CA_BUNDLE must be a file that can be read: ENOENT/);
});
