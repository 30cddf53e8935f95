import { openStore } from '@webcapture/shared/files/open-store.ts';
import { closeNats, connectNats } from '@webcapture/shared/nats/connect.ts';
import { followServerClock } from '@webcapture/shared/nats/measure-clock.ts';
import { inboxPrefixOf, streamNames } from '@webcapture/shared/nats/streams.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { formatAddress } from '@webcapture/shared/runtime/listen-address.ts';
import { startOpsServer } from '@webcapture/shared/runtime/ops-server.ts';
import { runService } from '@webcapture/shared/runtime/run-service.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { FleetConfigCheck, limitsText, regionsText, storageText } from '@webcapture/shared/queue/fleet-config.ts';
import { drainMsOf, type FrontConfig, readFrontConfig } from './config.ts';
import { createFront } from './front.ts';
import { trySigning } from './signed-links.ts';
import { waitUntilProvisioned } from './nats.ts';

await runService({
  name: 'front',
  readConfig: readFrontConfig,
  drainMs: drainMsOf,
  start: async (config, { log, shutdown, metrics }) => {
    let notReady: string | null = 'waiting for NATS';
    const ops = await startOpsServer({ ...config.ops, metrics, log, notReady: () => notReady });
    shutdown.add('operators port', () => ops.close());

    const session = await connectNats({
      ...config.nats,
      name: `front ${config.pod}`,
      inboxPrefix: inboxPrefixOf('front'),
      log,
      signal: shutdown.signal,
    });
    shutdown.add('NATS', () => closeNats(session));
    notReady = 'waiting for the controller to set up the streams';
    const { db, live, cache, captures, results, tasks, expiry, files } = streamNames;
    await waitUntilProvisioned(
      session,
      { streams: [db, live, cache, captures, results, tasks, expiry, files] },
      { log, signal: shutdown.signal },
    );

    void followServerClock(session, { log, signal: shutdown.signal });

    // The front serves files and removes those of deleted captures.
    const opened = await openStore(config.storage, { session, log, metrics });
    shutdown.add('the store of files', () => opened.close());
    const waiting = { signal: shutdown.signal, onWait: (what: string) => void (notReady = what) };
    await opened.ready(waiting);
    const signLink = config.signedLinks ? opened.signLink : undefined;
    const linkSigner = signLink === undefined ? undefined : await trySigning(signLink, waiting);

    const following = new AbortController();
    const leaving = new AbortController();
    shutdown.add('watches', () => following.abort());
    const { signal } = following;
    void createFleetConfigCheck(config, { registry: metrics, log }).follow(new Entries(session, 'live'), signal);
    const app = await createFront({
      config,
      session,
      store: opened.store,
      linkSigner,
      log,
      metrics,
      signal,
      leaving: leaving.signal,
    });
    await app.listen({ host: config.host, port: config.port });
    shutdown.add('HTTP server', () => app.close());
    // Gives load balancers time to notice that this front is draining.
    shutdown.add('arrivals', () => delay(config.drainDelayMs));
    shutdown.add('readiness', () => {
      notReady = 'draining';
      leaving.abort();
    });
    // Stays ready if NATS becomes unavailable later, because /status must report that, and all other fronts have lost NATS as well.
    notReady = null;
    log.info(
      { publicUrl: config.publicUrl, addresses: app.addresses().map((bound) => formatAddress(bound)) },
      'serving',
    );
  },
});

function createFleetConfigCheck(config: FrontConfig, deps: ConstructorParameters<typeof FleetConfigCheck>[1]) {
  const { regions, storage, publicUrl, cdnUrl, defaultLimits } = config;
  const own = {
    regions: regionsText(regions),
    storage: storageText(storage),
    publicUrl,
    cdnUrl,
    defaultLimits: limitsText(defaultLimits),
  };
  return new FleetConfigCheck(own, deps);
}
