import { randomUUID } from 'node:crypto';
import { openStore } from '@webcapture/shared/files/open-store.ts';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { followServerClock } from '@webcapture/shared/nats/measure-clock.ts';
import { inboxPrefixOf } from '@webcapture/shared/nats/streams.ts';
import { createHeartbeatFaults, Fleet } from '@webcapture/shared/queue/fleet.ts';
import {
  FleetConfigCheck,
  type FleetValues,
  idWithoutCluster,
  limitsText,
  numbersText,
  regionsText,
  storageText,
} from '@webcapture/shared/queue/fleet-config.ts';
import { delay, onAbort } from '@webcapture/shared/runtime/deadline.ts';
import { startOpsServer } from '@webcapture/shared/runtime/ops-server.ts';
import type { ServiceParts } from '@webcapture/shared/runtime/run-service.ts';
import type { ControllerConfig } from './config.ts';
import { clusterKey, ClusterReports } from './health/cluster-reports.ts';
import { Collector } from './health/collector.ts';
import { Decider, hasJoined } from './health/decider.ts';
import { LatestReading } from './health/facts.ts';
import { createControllerMetrics } from './health/metrics.ts';
import { Publisher, StatusWriter } from './health/publisher.ts';
import { answerScale } from './health/scale.ts';
import { StatusHistory } from './health/status-history.ts';
import { StorageProbe } from './health/storage-probe.ts';
import { CanaryResults } from './jobs/canary.ts';
import { Provisioner } from './provisioner.ts';
import { createFleetLeader, type LeaderParts } from './lead-fleet.ts';
import { type ElectionOptions, StuckTerms, runElection } from './leader/election.ts';
import { FleetRecord } from './leader/fleet-record.ts';
import { Lease } from './leader/lease.ts';
import { natsLeaseStore, onRelease } from './leader/nats-lease.ts';
import { repeat, skipped } from './loops.ts';
import { addDurables, bootstrap, provision } from './streams.ts';
import { controllerTimes, type ControllerTimes } from './times.ts';

/** A loop without an iteration in this time is stuck. */
const maxTickAgeMs = 30_000;

/** Interval of the ticks until everything is provisioned and the first status is decided, because services and clients wait for it. */
const startTickMs = 250;

/** Interval at which a controller that does not lead reads the results of the leader's canaries. */
const canaryResultsMs = 10_000;

/**
 * Starts a controller: the operations port, then the NATS connection (it waits for NATS without a time limit), then the loops, which stop
 * on `shutdown`. Returns the operations port.
 */
export async function startController(
  config: ControllerConfig,
  { log, shutdown, metrics: registry }: ServiceParts,
  times: ControllerTimes = controllerTimes,
): Promise<number> {
  let notReady = (): string | null => 'waiting for NATS';
  let tickAgeMs = () => 0;
  const stuck = new StuckTerms();
  const latest = new LatestReading();
  let waitingForFiles: string | null = 'waiting for the file store';
  const ops = await startOpsServer({
    ...config.ops,
    metrics: registry,
    log,
    notReady: () => notReady(),
    notLive: () => {
      if (tickAgeMs() > maxTickAgeMs)
        return `the status has not been collected for ${Math.round(tickAgeMs() / 1000)} s`;
      return stuck.problem;
    },
    more: (path) => answerScale(path, latest),
  });
  shutdown.add('the operations server', () => ops.close());

  const name = `webcapture controller ${config.pod}`;
  const inboxPrefix = inboxPrefixOf('controller');
  const session = await connectNats({ ...config.nats, name, inboxPrefix, log, signal: shutdown.signal });
  shutdown.add('the connection to NATS', () => session.nc.close());

  const files = await openStore(config.storage, { session, log, metrics: registry });
  shutdown.add('the file store', () => files.close());
  const parts = buildParts({ config, times, session, store: files.store, registry, log, latest });
  const ticker = new Ticker(parts);
  tickAgeMs = () => ticker.ageMs;
  notReady = () => {
    if (!session.connected()) return 'no connection to NATS';
    if (waitingForFiles !== null) return waitingForFiles;
    // A controller with an outdated configuration is always ready. Otherwise it would delay the rolling update that replaces it.
    if (parts.provisioner.complete || parts.record.isSuperseded) return null;
    return parts.record.obstacle ?? parts.provisioner.obstacle;
  };
  const { signal } = shutdown;
  const loops = Promise.all([
    runTicks(parts, ticker, signal),
    runOthers(parts, createFleetLeader(parts), { onHang: stuck.onHang, signal }),
    followServerClock(session, { log, signal }),
  ]);
  shutdown.add('the loops of the controller', () => loops);
  // An unavailable bucket does not delay the start; /status reports it.
  await files.ready({ signal: shutdown.signal, onWait: (what) => (waitingForFiles = what) });
  waitingForFiles = null;
  return ops.port;
}

/**
 * Creates the parts of a controller without starting them. {@link createFleetLeader} creates what only the fleet's
 * leader needs.
 */
function buildParts(
  context: Pick<LeaderParts, 'config' | 'times' | 'session' | 'store' | 'registry' | 'log' | 'latest'>,
) {
  const { config, times, session, store, registry, log } = context;
  const { streams } = config;
  const regions = config.regions.map(({ region }) => region);
  const live = new Entries(session, 'live');
  const fleet = new Fleet(undefined, createHeartbeatFaults(registry, log));
  const storage = new StorageProbe(store, { log, now: session.now });
  const canaryResults = new CanaryResults(live, config.canaryIntervalMs, session.now);
  const metrics = createControllerMetrics(registry);
  // Unique for each process: a restarted pod of the same name is another candidate.
  const holder = `${config.pod}/${randomUUID()}`;
  const lease = new Lease(natsLeaseStore(live, times.lease), holder, times.lease);
  const clusters = new ClusterReports(config.kubernetes !== null);
  const writer = new StatusWriter(live, lease);
  const history = new StatusHistory({ db: new Entries(session, 'db'), live, lease, now: session.now });
  const shared = { ...context, live, fleet, storage, canaryResults, metrics, clusters, history };
  const own = fleetValuesOf(config);
  const { namespace = '', release = config.pod } = config.kubernetes ?? {};
  const name = [namespace, release].filter((part) => part !== '').join('/');
  const { otherRegions } = config;
  const check = new FleetConfigCheck(own, { registry, log });
  const record = new FleetRecord({ live, own, name, otherRegions, check });
  if (config.kubernetes === null) record.identify(idWithoutCluster);
  return {
    ...shared,
    regions,
    holder,
    lease,
    record,
    provisioner: new Provisioner(
      {
        provision: async () => {
          // Another installation, or a newer configuration, may have taken over the fleet during this term.
          if (!record.mayLead) throw new Error(record.obstacle ?? 'the configuration of the fleet is not known yet');
          await provision(session.jsm, streams, regions);
        },
        bootstrap: () => bootstrap(session.jsm, streams),
        addDurables: () => addDurables(session.jsm, regions),
      },
      log,
    ),
    collector: new Collector({
      ...shared,
      streams,
      regions: config.regions,
      backgroundSlots: config.backgroundSlots,
      pending: () => record.pending,
      canaries: canaryResults,
    }),
    publisher: new Publisher({ lease, writer, history, metrics, log, statusMs: times.statusMs }),
  };
}

type ControllerParts = ReturnType<typeof buildParts>;

/** The configuration that a hub's controller wants for the fleet. */
function fleetValuesOf(config: ControllerConfig): FleetValues {
  return {
    regions: regionsText(config.regions),
    storage: storageText(config.storage),
    publicUrl: config.publicUrl,
    cdnUrl: config.cdnUrl,
    defaultLimits: limitsText(config.defaultLimits),
    streamReplicas: String(config.streams.replicas),
    streamMaxBytes: numbersText(config.streams.maxBytes),
  };
}

function runTicks({ provisioner, times, log }: ControllerParts, ticker: Ticker, signal: AbortSignal): Promise<void> {
  const isStarted = () => provisioner.complete && ticker.hasDecided;
  const everyMs = () => (isStarted() ? times.tickMs : Math.min(times.tickMs, startTickMs));
  return repeat({ what: 'collecting and publishing the status', everyMs, signal, log }, () => ticker.tick());
}

type OnHang = NonNullable<ElectionOptions['onHang']>;

/** Interval at which the fleet's configuration is read. No controller leads before it has read it. */
const recordMs = 2000;
const firstRecordMs = 250;

/** Runs everything that needs the streams. */
async function runOthers(
  parts: ControllerParts,
  leadFleet: ElectionOptions['lead'],
  { onHang, signal }: { onHang: OnHang; signal: AbortSignal },
): Promise<void> {
  const { config, session, lease, record, history, provisioner, times, log } = parts;
  while (!provisioner.canElect && !signal.aborted) await delay(50, signal);
  // If the record is not read now, the election starts later.
  await record.look().catch(() => undefined);
  // Read the previous status before this process can overwrite it.
  await history.readStatus().catch(() => undefined);
  const provisioned = untilProvisioned(parts, signal);
  const runInCluster = async () => {
    const [{ region: home } = { region: null }] = config.regions;
    if (config.kubernetes === null || home === null || signal.aborted) return;
    // The module is imported only in a cluster: the client library takes 50 MB of memory and a second.
    const { runKubernetes } = await import('./kubernetes/run.ts');
    const settings = config.kubernetes;
    const identify = (uid: string) => record.identify(uid);
    await runKubernetes(
      {
        ...parts,
        settings,
        identify,
        pod: config.pod,
        home,
        reportKey: clusterKey,
        onHang,
        times: times.kubernetes,
        now: session.now,
      },
      signal,
    );
  };
  const lead: ElectionOptions['lead'] = async (term) => {
    const common = { everyMs: recordMs, signal: term.signal, log };
    await Promise.all([
      repeat({ what: 'writing the configuration of the fleet', ...common }, async () => {
        if (term.holds()) await record.store();
      }),
      Promise.race([provisioned, aborted(term.signal)]).then(() => (term.signal.aborted ? undefined : leadFleet(term))),
    ]);
  };
  const everyMs = () => (record.isKnown ? recordMs : firstRecordMs);
  await Promise.all([
    repeat({ what: 'reading the configuration of the fleet', everyMs, signal, log }, async () => {
      if (record.isSuperseded && (await lease.freeForMs()) >= times.vacantMs) record.supersede();
      await record.look();
    }),
    runInCluster(),
    runElection(
      {
        what: 'the fleet',
        lease,
        reachable: () => session.connected(),
        mayLead: () => record.mayLead,
        onFree: onRelease(session),
        times: times.lease,
        log,
        lead,
        onHang,
      },
      signal,
    ),
    provisioned.then(() => runReaders(parts, signal)),
  ]);
}

async function untilProvisioned({ provisioner, log }: ControllerParts, signal: AbortSignal): Promise<void> {
  while (!provisioner.complete && !signal.aborted) await delay(50, signal);
  if (!signal.aborted) log.info('streams and consumers are provisioned');
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve));
}

/** Runs the readers of every controller, whether it leads or not. */
async function runReaders(parts: ControllerParts, signal: AbortSignal): Promise<void> {
  const { config, session, fleet, clusters, storage, canaryResults, lease, regions, times, log } = parts;
  if (signal.aborted) return;
  const intervalMs = config.storage.bucket === undefined ? times.storageProbeMs : times.bucketProbeMs;
  const probeMs = () => (storage.facts?.kind === 'fails' ? times.storageRetryMs : intervalMs);
  const readCanaryResults = async () => {
    if (lease.holds()) return skipped;
    await canaryResults.load(regions);
    return undefined;
  };
  await Promise.all([
    fleet.follow(session, { log, signal }),
    clusters.follow(session, { log, signal }),
    repeat({ what: 'probing the file store', everyMs: probeMs, signal, log }, () => storage.run()),
    repeat({ what: 'reading the results of canaries', everyMs: canaryResultsMs, signal, log }, readCanaryResults),
  ]);
}

/** Time after the start during which missing streams are not reported as an outage, because they are being provisioned. */
const provisioningMs = 10_000;

/** The controller's main loop: collect, decide, publish. */
class Ticker {
  readonly #parts: ControllerParts;
  readonly #decider = new Decider();
  readonly #startedAt = performance.now();
  #lastAt: number | null = null;
  #deciding = false;
  #hasDecided = false;

  constructor(parts: ControllerParts) {
    this.#parts = parts;
  }

  /** Milliseconds since the last processed reading; 0 before the first. */
  get ageMs(): number {
    return this.#lastAt === null ? 0 : performance.now() - this.#lastAt;
  }

  /** Whether a status has been decided. */
  get hasDecided(): boolean {
    return this.#hasDecided;
  }

  async tick(): Promise<void> {
    const { collector, provisioner, publisher, latest, lease, record } = this.#parts;
    try {
      const facts = await collector.read();
      const { mayLead, mayBootstrap } = record;
      provisioner.heal(facts.queue, { leads: lease.holds() && mayLead, mayAdd: mayLead, mayBootstrap });
      this.#deciding ||= provisioner.complete || performance.now() - this.#startedAt > provisioningMs;
      const report = this.#deciding ? this.#decider.next(facts) : null;
      this.#hasDecided ||= report !== null;
      for (const region of facts.regions) {
        if (report !== null && hasJoined(region, report)) record.join(region.region);
      }
      latest.set({ facts, report });
      await publisher.publish(facts, report);
    } finally {
      this.#lastAt = performance.now();
    }
  }
}
