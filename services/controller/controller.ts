import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Shutdown } from '@webcapture/shared/lifecycle/shutdown.ts';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { followServerClock } from '@webcapture/shared/nats/server-clock.ts';
import { openStore } from '@webcapture/shared/storage/open-store.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { createMetrics } from '@webcapture/shared/telemetry/metrics.ts';
import { startOpsServer } from '@webcapture/shared/telemetry/ops-server.ts';
import { answerScale } from './apply/answer-scale.ts';
import { LatestReading } from './apply/latest-reading.ts';
import { leadFleet } from './chores/lead-fleet.ts';
import type { ControllerConfig } from './config.ts';
import { runKubernetes } from './kube/run-kubernetes.ts';
import { runElection, type ElectionOptions } from './leader/election.ts';
import { onRelease } from './leader/lease.ts';
import { buildParts, type ControllerParts } from './parts.ts';
import { repeat } from './repeat.ts';
import { Ticker } from './ticker.ts';
import { controllerTimes, type ControllerTimes } from './times.ts';

/** A loop that has not come round for so long hangs. */
const maxTickAgeMs = 30_000;

/** Until everything is provisioned, the others wait for this controller. */
const startTickMs = 250;

/** How often a controller that does not lead reads what the leader's canaries showed. */
const bookMs = 10_000;

/**
 * Starts a controller: its operators' port, its connection (waiting for NATS as long as it takes), then its loops, which
 * end by `shutdown`. Returns the operators' port.
 */
export async function startController(
  config: ControllerConfig,
  { log, shutdown }: { log: Logger; shutdown: Shutdown },
  times: ControllerTimes = controllerTimes,
): Promise<number> {
  const registry = createMetrics('controller');
  let notReady = (): string | null => 'waiting for NATS';
  let tickAgeMs = () => 0;
  /** What this process led, with work that does not end: it would never stand for that again. */
  const hung = new Set<string>();
  const onHang = (what: string, isHung: boolean) => void (isHung ? hung.add(what) : hung.delete(what));
  const latest = new LatestReading();
  let waitingForFiles: string | null = 'trying the store of files';
  const ops = await startOpsServer({
    ...config.ops,
    metrics: registry,
    log,
    notReady: () => notReady(),
    notLive: () => {
      if (tickAgeMs() > maxTickAgeMs) return `no reading for ${Math.round(tickAgeMs() / 1000)} s`;
      return hung.size === 0 ? null : `the work of a term as leader of ${[...hung].join(' and ')} does not end`;
    },
    more: (path) => answerScale(path, latest),
  });
  shutdown.add('the operators’ port', () => ops.close());

  const name = `webcapture controller ${config.pod}`;
  const inboxPrefix = '_INBOX.controller';
  const session = await connectNats({ ...config.nats, name, inboxPrefix, log, signal: shutdown.signal });
  shutdown.add('the connection to NATS', () => session.nc.close());

  const needs = ['create', 'get', 'delete', 'list'] as const;
  const files = await openStore(config.storage, { session, log, metrics: registry, needs });
  shutdown.add('the store of files', () => files.close());
  const parts = buildParts({ config, times, session, store: files.store, registry, log, latest });
  const ticker = new Ticker(parts);
  tickAgeMs = () => ticker.ageMs;
  notReady = () => {
    if (!session.connected()) return 'no connection to NATS';
    if (waitingForFiles !== null) return waitingForFiles;
    return parts.provisioner.complete ? null : 'streams and durables are being set up';
  };
  const { signal } = shutdown;
  const loops = Promise.all([
    runTicks(parts, ticker, signal),
    runOthers(parts, { onHang, signal }),
    followServerClock(session, { log, signal }),
  ]);
  shutdown.add('the loops of the controller', () => loops);
  // A bucket that is away keeps nobody from the rest: /status tells of it.
  await files.ready({ signal: shutdown.signal, onWait: (what) => (waitingForFiles = what) });
  waitingForFiles = null;
  return ops.port;
}

function runTicks({ provisioner, times, log }: ControllerParts, ticker: Ticker, signal: AbortSignal): Promise<void> {
  const everyMs = () => (provisioner.complete ? times.tickMs : Math.min(times.tickMs, startTickMs));
  return repeat({ what: 'reading and telling the state', everyMs, signal, log }, () => ticker.tick());
}

type OnHang = NonNullable<ElectionOptions['onHang']>;

/** All that needs the streams. */
async function runOthers(
  parts: ControllerParts,
  { onHang, signal }: { onHang: OnHang; signal: AbortSignal },
): Promise<void> {
  const { config, session, fleet, clusters, storage, book, lease, provisioner, regions, times, log } = parts;
  while (!provisioner.complete && !signal.aborted) await delay(50, signal);
  if (signal.aborted) return;
  log.info('streams and durables are in place');
  const usualMs = config.storage.bucket === undefined ? times.storageProbeMs : times.bucketProbeMs;
  const probeMs = () => (storage.facts?.kind === 'fails' ? times.storageRetryMs : usualMs);
  const readBook = async () => {
    if (!lease.holds()) await book.load(regions);
  };
  await Promise.all([
    fleet.follow(session, { log, signal }),
    clusters.follow(session, { log, signal }),
    config.kubernetes === null
      ? null
      : runKubernetes({ ...parts, settings: config.kubernetes, pod: config.pod, onHang, times: times.kube }, signal),
    repeat({ what: 'probing the file store', everyMs: probeMs, signal, log }, () => storage.run()),
    repeat({ what: 'reading the results of canaries', everyMs: bookMs, signal, log }, readBook),
    runElection(
      {
        what: 'the fleet',
        lease,
        reachable: () => session.connected(),
        onFree: onRelease(session),
        times: times.lease,
        log,
        lead: (term) => leadFleet(parts, term),
        onHang,
      },
      signal,
    ),
  ]);
}
