// @module-tag long
import { createServer } from 'node:https';
import { beforeAll, expect, test } from 'vitest';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { html, TestEngine } from '../../harness/engine.ts';
import { natsCertificates } from '../../harness/nats-certificates.ts';
import { listen } from '../egress/sites.ts';

beforeAll(async () => {
  await ensureTool('certutil', { log: (line) => process.stdout.write(`${line}\n`) });
}, 120_000);

const red = html('<div style="width:100px;height:100px;background:#f00"></div>');

/** Starts a site whose certificate is for nats.test, and an engine that trusts the authorities; both end with the test. */
async function start(...certificates: string[]) {
  const { serverCert: cert, serverKey: key } = natsCertificates;
  const server = createServer({ cert, key }, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(red);
  });
  const site = await listen(server, '127.0.0.1');
  const engine = await TestEngine.start({ caBundle: { file: 'ca.pem', certificates } });
  return {
    engine,
    url: (host: string) => `https://${host}:${site.port}/`,
    async [Symbol.asyncDispose]() {
      await engine.close();
      await site.close();
    },
  };
}

test('pages whose certificates are signed by an authority of the bundle are captured, also with antiBot', async () => {
  await using started = await start(natsCertificates.otherCa, natsCertificates.ca);
  const { engine, url } = started;
  for (const antiBot of [false, true]) {
    const { picture } = await engine.shoot(url('nats.test'), { antiBot });
    expect(picture.at(50, 50)).toBe('#ff0000');
  }
  // The certificate is for another name.
  await expect(engine.render(url('other.test'))).rejects.toMatchObject({
    code: 'NAVIGATION_FAILED',
    message: expect.stringContaining('is for another name'),
  });
});

test('pages with certificates of other authorities are refused', async () => {
  await using started = await start(natsCertificates.otherCa);
  await expect(started.engine.render(started.url('nats.test'))).rejects.toMatchObject({
    code: 'NAVIGATION_FAILED',
    message: expect.stringContaining('comes from an authority that is not trusted'),
  });
});

test('the engine does not start without certutil, and says which package is missing', async () => {
  const { PATH } = process.env;
  process.env.PATH = '/nowhere';
  try {
    await expect(
      TestEngine.start({ caBundle: { file: 'ca.pem', certificates: [natsCertificates.ca] } }),
    ).rejects.toThrow('Install the package libnss3-tools');
  } finally {
    process.env.PATH = PATH;
  }
});
