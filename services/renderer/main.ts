import { setFlagsFromString } from 'node:v8';
import { heartbeatFreshMs, type RendererHeartbeat } from '@webcapture/shared/contract/heartbeat.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { runService } from '@webcapture/shared/lifecycle/run-service.ts';
import { closeNats } from '@webcapture/shared/nats/close.ts';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { waitUntilProvisioned } from '@webcapture/shared/nats/provision.ts';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Cache } from '@webcapture/shared/state/cache.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { FollowUps } from '@webcapture/shared/state/follow-ups.ts';
import { encodeResult } from '@webcapture/shared/state/results.ts';
import { Tasks } from '@webcapture/shared/state/tasks.ts';
import { removeHtml, takeHtml } from '@webcapture/shared/storage/html-parcel.ts';
import { openStore } from '@webcapture/shared/storage/open-store.ts';
import { createMetrics } from '@webcapture/shared/telemetry/metrics.ts';
import { startOpsServer } from '@webcapture/shared/telemetry/ops-server.ts';
import { version } from '@webcapture/shared/lifecycle/version.ts';
import { loadBlocker } from './blocking/load-blocker.ts';
import { startRenderEngine } from './capture/engine.ts';
import { openTempRoot } from './browser/temp-root.ts';
import { readRendererConfig } from './config.ts';
import { startEgressProxy } from './egress/proxy.ts';
import { Heartbeat } from './job/heartbeat.ts';
import { Lanes } from './job/lanes.ts';
import { createRendererMetrics } from './job/metrics.ts';
import { Recent } from './job/recent.ts';
import { runJob } from './job/run-job.ts';
import { Slots } from './job/slots.ts';

/** The longest capture there can be, with room to store it. */
const drainMs = 240_000;

/**
 * By default V8 lets garbage grow to three times of what is used. Each capture leaves a quarter of a MiB of strings and
 * buffers that outlive the collections of young objects; so the heap may grow by 30% only. That costs one collection in
 * some 250 captures, and the process stays at 430 MiB where it went up and down to 550.
 */
setFlagsFromString('--heap-growing-percent=30');

await runService({
  name: 'renderer',
  readConfig: readRendererConfig,
  drainMs: () => drainMs,
  start: async (config, { log, shutdown }) => {
    const metrics = createMetrics('renderer');
    let notReady: string | null = 'waiting for NATS';
    let browser = (): RendererHeartbeat['browser'] => 'up';
    const ops = await startOpsServer({
      ...config.ops,
      metrics,
      log,
      notReady: () => notReady ?? (browser() === 'up' ? null : `the browser is ${browser()}`),
    });
    shutdown.add('operators port', () => ops.close());

    const session = await connectNats({
      ...config.nats,
      name: `renderer ${config.pod}`,
      inboxPrefix: '_INBOX.renderer',
      log,
      signal: shutdown.signal,
    });
    shutdown.add('NATS', () => closeNats(session));
    notReady = 'waiting for the controller to set up the streams';
    // The durables come after all streams.
    await waitUntilProvisioned(
      session,
      {
        streams: [],
        durables: [{ stream: streamNames.captures, durable: captureDurable(config.region, 'interactive') }],
      },
      { log, signal: shutdown.signal },
    );

    const files = await openStore(config.storage, { session, log, metrics, needs: ['create', 'get', 'delete'] });
    shutdown.add('the store of files', () => files.close());
    await files.ready({ signal: shutdown.signal, onWait: (what) => (notReady = what) });

    notReady = 'starting the browser';
    shutdown.add('temporary files', await openTempRoot());
    const policy = createEgressPolicy({ allow: config.egressAllow, deny: config.egressDeny });
    const egress = await startEgressProxy({
      policy,
      log,
      limits: { maxDownloadBytes: config.downloadBytes },
      onLimit: (limit) => {
        log.warn({ limit }, 'a capture met a limit of its network');
        rendererMetrics.limitMet(limit);
      },
    });
    shutdown.add('egress proxy', () => egress.close());
    const blocker = await loadBlocker({ path: config.filtersPath, log });
    const engine = await startRenderEngine(config, { log, egress, blocker });
    shutdown.add('browser', () => engine.close());
    browser = () => engine.browserState();

    const recent = new Recent();
    const lanes = new Lanes((stream, durable, waitMs) => pullOne(session.nc, stream, durable, waitMs), config.region);
    const jobDeps = {
      engine,
      // What a renderer may read is told by subject: no keys, no accounts.
      captures: new Captures(session, 'by-subject'),
      store: files.store,
      cache: new Cache(session),
      followUps: new FollowUps(new Tasks(session)),
      takeHtml: (fileName: string) => takeHtml(session, fileName),
      dropHtml: (fileName: string) => removeHtml(session, fileName),
      announce: (job, record, bytes) => {
        if (job.resultSubject === undefined) return;
        const limit = session.nc.info?.max_payload ?? 0;
        session.nc.publish(job.resultSubject, encodeResult(record, job.wantsBytes ? bytes : null, limit));
      },
      onEnd: (end) => {
        const queueWaitMs = end.job.lane === 'interactive' ? end.queueMs : null;
        const { renderMs } = end;
        if (renderMs !== null) recent.add({ failure: end.failure?.code ?? null, queueWaitMs, renderMs });
        rendererMetrics.ended(end);
      },
      log,
    } satisfies Parameters<typeof runJob>[2];
    const slots = new Slots({
      count: config.slots,
      next: () => lanes.next(),
      run: (message, signal) => runJob(message, signal, jobDeps),
      ready: () => engine.browserState() === 'up' && session.connected(),
      log,
    });
    const rendererMetrics = createRendererMetrics(metrics, {
      region: config.region,
      slots: config.slots,
      busy: () => slots.busy,
      browserUp: () => engine.browserState() === 'up',
    });
    const heartbeat = new Heartbeat(
      session,
      () => ({
        pod: config.pod,
        region: config.region,
        version,
        slots: config.slots,
        busy: slots.busy,
        browser: engine.browserState(),
        draining: slots.draining,
        recent: recent.summary(),
        at: Date.now(),
      }),
      log,
    );
    shutdown.add('heartbeat', () => heartbeat.stop());
    shutdown.add('slots', async () => {
      notReady = 'draining';
      const drained = slots.drain(drainMs - 2 * heartbeatFreshMs);
      await heartbeat.sayNow();
      await drained;
    });
    notReady = null;
    log.info({ region: config.region, slots: config.slots }, 'rendering');
  },
});
