import { runService } from '@webcapture/shared/lifecycle/run-service.ts';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { waitUntilProvisioned } from '@webcapture/shared/nats/provision.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { createMetrics } from '@webcapture/shared/telemetry/metrics.ts';
import { startOpsServer } from '@webcapture/shared/telemetry/ops-server.ts';
import { readFrontConfig } from './config.ts';
import { createFront } from './front.ts';

await runService({
  name: 'front',
  readConfig: readFrontConfig,
  // What clients wait for is let end, as far as the longest usual capture goes.
  drainMs: 240_000,
  start: async (config, { log, shutdown }) => {
    const metrics = createMetrics('front');
    let notReady: string | null = 'waiting for NATS';
    const ops = await startOpsServer({ ...config.ops, metrics, log, notReady: () => notReady });
    shutdown.add('operators port', () => ops.close());

    const session = await connectNats({ ...config.nats, name: `front ${config.pod}`, log, signal: shutdown.signal });
    shutdown.add('NATS', () => session.nc.drain());
    notReady = 'waiting for the controller to set up the streams';
    const { db, live, cache, captures, tasks, files } = streamNames;
    await waitUntilProvisioned(
      session,
      { streams: [db, live, cache, captures, tasks, files] },
      { log, signal: shutdown.signal },
    );

    const following = new AbortController();
    shutdown.add('watches', () => following.abort());
    const app = await createFront({ config, session, log, metrics, signal: following.signal });
    await app.listen({ host: config.host, port: config.port });
    shutdown.add('HTTP server', () => app.close());
    shutdown.add('readiness', () => void (notReady = 'draining'));
    // It stays ready when NATS goes away later: /status must tell of it, and every other front is in the same plight.
    notReady = null;
    log.info({ publicUrl: config.publicUrl, port: config.port }, 'serving');
  },
});
