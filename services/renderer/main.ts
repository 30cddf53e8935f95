import { randomUUID } from 'node:crypto';
import { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { openUpstream } from '@webcapture/shared/egress/upstream.ts';
import { openUploader } from '@webcapture/shared/files/open-store.ts';
import { readHtml } from '@webcapture/shared/files/stored-html.ts';
import { closeNats, connectNats, reachesNats } from '@webcapture/shared/nats/connect.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import { heldSubject, inboxPrefixOf } from '@webcapture/shared/nats/streams.ts';
import { heartbeatFreshMs, heldJobText, maxHeldJobs } from '@webcapture/shared/queue/heartbeat.ts';
import { startOpsServer } from '@webcapture/shared/runtime/ops-server.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { runService, version } from '@webcapture/shared/runtime/run-service.ts';
import { loadBlocker } from './blocking/blocker.ts';
import type { Resource } from './browser/resource-guard.ts';
import { openTempFolder } from './browser/temp-folder.ts';
import { drainMs, readRendererConfig } from './config.ts';
import { startEgressProxy } from './egress/proxy.ts';
import { startRenderEngine } from './page/engine.ts';
import { Heartbeat, RecentCaptures } from './worker/heartbeat.ts';
import { JobSource } from './worker/job-source.ts';
import { createRendererMetrics } from './worker/metrics.ts';
import { ResultPublisher } from './worker/publish-result.ts';
import { type JobDeps, returnJob, runJob } from './worker/run-job.ts';
import { Slots } from './worker/slots.ts';

await runService({
  name: 'renderer',
  readConfig: readRendererConfig,
  drainMs: () => drainMs,
  start: async (config, { log, shutdown, metrics }) => {
    let notReady: () => string | null = () => 'waiting for NATS';
    const ops = await startOpsServer({
      ...config.ops,
      metrics,
      log,
      notReady: () => notReady(),
    });
    shutdown.add('operators port', () => ops.close());

    const session = await connectNats({
      ...config.nats,
      name: `renderer ${config.pod}`,
      inboxPrefix: inboxPrefixOf(`renderer.${config.region}`),
      log,
      signal: shutdown.signal,
    });
    shutdown.add('NATS', () => closeNats(session));

    const files = await openUploader(config.storage, { session, log, metrics });
    shutdown.add('file storage', () => files.close());
    await files.ready({ signal: shutdown.signal, onWait: (what) => (notReady = () => what) });

    notReady = () => 'starting the browser';
    shutdown.add('temporary files', await openTempFolder());
    const policy = createEgressPolicy({ allow: config.egressAllow, deny: config.egressDeny });
    const egress = await startEgressProxy({
      policy,
      upstream: openUpstream(config.upstreamProxy, { registry: metrics, log }),
      log,
      limits: { maxDownloadBytes: config.downloadBytes },
      onLimit: (limit) => {
        log.warn({ limit }, 'capture reached a limit of its network traffic');
        rendererMetrics.limitReached(limit);
      },
    });
    shutdown.add('egress proxy', () => egress.close());
    const blocker = await loadBlocker({ path: config.filtersPath, log });
    const onPageLimit = (resource: Resource) => rendererMetrics.pageLimitReached(resource);
    const engine = await startRenderEngine(config, {
      log,
      egress,
      blocker,
      onPageLimit,
      onPageReused: () => rendererMetrics.pageReused(),
      onWipe: (outcome) => rendererMetrics.pageWiped(outcome),
    });
    shutdown.add('browser', () => engine.close());

    const recent = new RecentCaptures();
    const jobDeps: JobDeps = {
      engine,
      uploader: files,
      results: new ResultPublisher(session, config.pod),
      secretsKeys: SecretsKeys.of(config.secretsKeys),
      readHtml: (name) => readHtml(session, { region: config.region, name }, 'by-subject'),
      reachesNats: () => reachesNats(session),
      clock: session.clock,
      onEnd: (end) => {
        const queueWaitMs = end.job.priority === 'interactive' ? end.queueMs : null;
        const { failure, renderMs } = end;
        if (renderMs !== null) recent.add({ failure, queueWaitMs, renderMs });
        rendererMetrics.ended(end);
      },
      onReturn: ({ reason, heldMs }) => {
        // The failure counts for this service, not for the capture, so that the state of the region shows it.
        const failure = { cause: 'service' } as const;
        if (reason === 'store_unavailable') recent.add({ failure, queueWaitMs: null, renderMs: heldMs });
        rendererMetrics.returned(reason);
      },
      log,
    };
    const slots: Slots = new Slots({
      count: config.slots,
      run: (message, signal) => runJob(message, signal, jobDeps),
      returnJob: (message, reason) => returnJob(message, reason, jobDeps),
      ready: () => engine.browserState() === 'up' && session.connected(),
      onFree: () => source?.ask(),
      onTaken: (message) =>
        session.nc.publish(heldSubject(config.region, config.pod), heldJobOf(config.region, message)),
    });
    const rendererMetrics = createRendererMetrics(metrics, {
      region: config.region,
      slots: config.slots,
      busy: () => slots.busy,
      browserUp: () => engine.browserState() === 'up',
    });
    const instance = randomUUID();
    const heartbeat = new Heartbeat(
      session,
      () => ({
        pod: config.pod,
        instance,
        region: config.region,
        version,
        slots: config.slots,
        busy: slots.busy,
        browser: engine.browserState(),
        draining: slots.draining,
        recent: recent.summary(),
        jobs: slots.held.slice(0, maxHeldJobs).map((message) => heldJobOf(config.region, message)),
        at: Date.now(),
      }),
      log,
    );
    const source = new JobSource(session, {
      region: config.region,
      free: () => slots.free,
      onJob: (message) => slots.take(message),
      log,
    });
    shutdown.add('heartbeat', () => heartbeat.stop());
    shutdown.add('slots', async () => {
      notReady = () => 'draining';
      const drained = slots.drain(drainMs - 2 * heartbeatFreshMs);
      source.close();
      await heartbeat.publishNow();
      await drained;
    });
    notReady = () => (engine.browserState() === 'up' ? null : `the browser is ${engine.browserState()}`);
    log.info({ region: config.region, slots: config.slots }, 'the renderer is ready');
  },
});

/** Returns the data that the leader needs to return the job if this renderer dies. */
function heldJobOf(region: Region, { consumer, delivery, sequence, consumerSequence }: PulledMessage): string {
  return heldJobText({ queue: consumer.slice(region.length + 1), delivery, sequence, consumerSequence });
}
