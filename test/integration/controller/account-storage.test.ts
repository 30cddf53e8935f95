import { Registry } from 'prom-client';
import { expect, inject, onTestFinished, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { createStreamMetrics, measureStreams } from '../../../services/controller/jobs/stream-sizes.ts';
import { provision } from '../../../services/controller/streams.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { tempDir } from '../deploy/support.ts';

test('the leader shows the storage of the NATS account and its limit', async () => {
  const server = await startNats({
    dataDir: await tempDir(),
    toolPath: inject('tools').natsServer,
    config: `accounts { limited {
      jetstream { max_mem: 0, max_file: 600MB }
      users: [{ user: "controller", password: "secret" }]
    } }`,
  });
  onTestFinished(async () => void (await server.process.stop({ graceMs: 0 })));
  const login = { user: 'controller', password: 'secret' };
  const signal = AbortSignal.timeout(60_000);
  const session = await connectNats({ url: server.url, ...login, name: 'test', log: silentLog, signal });
  onTestFinished(() => session.nc.close());
  await provision(session.jsm, streamSettings, ['us-east']);
  await session.js.publish('files.part.large', new Uint8Array(900 * 1024));

  const registry = new Registry();
  const streamMetrics = createStreamMetrics(registry);
  let leads = true;
  const term = { holds: () => leads, signal };
  await measureStreams({ session, streamMetrics }, term);
  const { storage } = await session.jsm.getAccountInfo();
  expect(storage).toBeGreaterThan(900 * 1024);
  const shown = await registry.metrics();
  expect(shown).toContain(`webcapture_jetstream_bytes{storage="file"} ${storage}\n`);
  expect(shown).toContain(`webcapture_jetstream_max_bytes{storage="file"} ${600 * 1024 ** 2}\n`);
  leads = false;
  await measureStreams({ session, streamMetrics }, term);
  expect(await registry.metrics()).not.toMatch(/^webcapture_jetstream_/m);
});
