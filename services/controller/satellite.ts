import { AuthorizationError, type Status } from '@nats-io/nats-core';
import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import { type StatusReport, statusStaleMs } from '@webcapture/shared/api/status.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type ConnectionProblem, connectionProblem } from '@webcapture/shared/nats/connection-problem.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { inboxPrefixOf, prefixed } from '@webcapture/shared/nats/streams.ts';
import { createHeartbeatFaults, Fleet } from '@webcapture/shared/queue/fleet.ts';
import {
  type FleetConfig,
  FleetConfigCheck,
  fleetConfigKey,
  storageText,
} from '@webcapture/shared/queue/fleet-config.ts';
import { maxHeartbeatBytes } from '@webcapture/shared/queue/heartbeat.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { startOpsServer } from '@webcapture/shared/runtime/ops-server.ts';
import type { ServiceParts } from '@webcapture/shared/runtime/run-service.ts';
import type { ControllerConfig } from './config.ts';
import { type ClusterReport, ClusterReports, satelliteKey } from './health/cluster-reports.ts';
import { type FleetProblem, type FleetReason, fleetReasons, LatestReading } from './health/facts.ts';
import { createControllerMetrics } from './health/metrics.ts';
import { notJoined, readSatellite, type SatelliteView } from './health/satellite-reading.ts';
import { duration } from './health/verdict.ts';
import { answerScale } from './health/scale.ts';
import { StuckTerms } from './leader/election.ts';
import { repeat, skipped } from './loops.ts';
import { gaugeOf } from './metrics.ts';
import { controllerTimes, type ControllerTimes } from './times.ts';

/** Interval at which the hub's configuration and status are read. */
const readMs = 2000;

/** Minimum duration of a lost connection before it is reported, because servers restart. */
const lostMs = 5000;

/**
 * Time for which NATS may refuse the password before the process restarts. It reads the password only at the start, and the Secret may have
 * changed.
 */
const refusedMs = 60_000;

/**
 * Starts the controller of a satellite. It reports the pods of its cluster to the hub, and shows the hub's status of its regions in its own
 * cluster. It decides nothing about the fleet. It keeps running without a connection, because operators look for the reason in the
 * resources of the cluster. Returns the operations port.
 */
export async function startSatellite(
  config: ControllerConfig,
  { log, shutdown, metrics: registry }: ServiceParts,
  times: ControllerTimes = controllerTimes,
): Promise<number> {
  const latest = new LatestReading();
  const stuck = new StuckTerms();
  const [{ region: home } = { region: null }] = config.regions;
  if (config.kubernetes === null || home === null) throw new RangeError('a satellite needs a cluster and a region');
  const { signal } = shutdown;
  const link = new FleetLink(config, { registry, log });
  const ops = await startOpsServer({
    ...config.ops,
    metrics: registry,
    log,
    notReady: () => notJoined(latest.get()),
    notLive: () => {
      if (link.refusedForMs > refusedMs) return 'NATS refuses the credential; a restart reads it again';
      return stuck.problem;
    },
    more: (path) => answerScale(path, latest),
  });
  shutdown.add('the operations server', () => ops.close());

  const clusters = new ClusterReports(false);
  const metrics = createControllerMetrics(registry);
  const showProblems = createProblemLog(registry, log);
  const tick = async () => {
    const view: SatelliteView = { ...link.view(), clusters, backgroundSlots: config.backgroundSlots };
    const reading = readSatellite(config, view, link.now());
    latest.set(reading);
    metrics.showFacts(reading.facts);
    showProblems(reading.problems.values());
  };
  const { runKubernetes } = await import('./kubernetes/run.ts');
  const live = {
    put: async (key: string, report: unknown, options: { ttlSeconds?: number } = {}) => {
      // The metrics show what this cluster reports even when the hub cannot be reached.
      clusters.receive(key, report as ClusterReport);
      return link.connected ? link.put(key, report, options) : skipped;
    },
  };
  const inCluster = {
    settings: config.kubernetes,
    holder: `${config.pod}/${randomUUID()}`,
    pod: config.pod,
    home,
    live,
    reportKey: (uid: string) => satelliteKey(home, uid),
    identify: () => undefined,
    latest,
    registry,
    log,
    onHang: stuck.onHang,
    times: times.kubernetes,
    now: link.now,
  };
  const loops = Promise.all([
    repeat({ what: 'reading the state of the fleet', everyMs: times.tickMs, signal, log }, tick),
    repeat({ what: 'reading the configuration and status of the hub', everyMs: readMs, signal, log }, () =>
      link.read(),
    ),
    runKubernetes(inCluster, signal),
    link.connect(home, signal),
  ]);
  shutdown.add('the connection to NATS', () => link.close());
  shutdown.add('the loops of the controller', () => loops);
  return ops.port;
}

export const createSatelliteMetrics = (registry: Registry) =>
  gaugeOf(
    registry,
    'webcapture_satellite_problem',
    'Problems that keep this satellite out of its fleet, by reason: 1 while the problem exists, otherwise 0. Satellites only.',
    ['reason'],
  );

/** Logs each problem once by its reason, and sets a metric for each. */
function createProblemLog(registry: Registry, log: Logger): (problems: Iterable<FleetProblem>) => void {
  const gauge = createSatelliteMetrics(registry);
  let told: ReadonlyMap<FleetReason, string> = new Map();
  return (problems) => {
    const now = new Map([...problems].map(({ reason, message }) => [reason, message]));
    for (const reason of fleetReasons) gauge.set({ reason }, now.has(reason) ? 1 : 0);
    for (const [reason, message] of now) {
      // The message may contain a number of seconds, so the reasons are compared.
      if (!told.has(reason)) log.error({ reason }, `this satellite does not work in its fleet: ${reason}: ${message}`);
    }
    if (now.size === 0 && told.size > 0) log.info('all problems of this satellite are resolved');
    told = now;
  };
}

/** The connection to the hub, the hub's last known state, and problems of the connection. */
class FleetLink {
  readonly #config: ControllerConfig;
  readonly #log: Logger;
  readonly #check: FleetConfigCheck;
  readonly #fleet: Fleet;
  #session: NatsSession | null = null;
  /** The server's clock in Unix ms; this process's clock before the first connection. */
  readonly now = (): number => this.#session?.now() ?? Date.now();
  #live: Entries | null = null;
  #problem: ConnectionProblem | null = null;
  #lostAt: number | null = null;
  /** When NATS last answered. */
  #readAt: number | null = null;
  #refusedSince: number | null = null;
  #fleetConfig: FleetConfig | null | undefined;
  #status: { readonly report: StatusReport; readonly at: number } | null = null;
  #heartbeats = 0;
  readonly #startedAt = performance.now();

  constructor(config: ControllerConfig, { registry, log }: { registry: Registry; log: Logger }) {
    this.#config = config;
    this.#log = log;
    this.#check = new FleetConfigCheck({ storage: storageText(config.storage) }, { registry, log });
    this.#fleet = new Fleet(undefined, createHeartbeatFaults(registry, log));
  }

  get connected(): boolean {
    return this.#session?.connected() ?? false;
  }

  get refusedForMs(): number {
    return this.#refusedSince === null ? 0 : performance.now() - this.#refusedSince;
  }

  view() {
    const now = performance.now();
    const lostForMs = this.#lostAt === null ? 0 : now - this.#lostAt;
    const why = `this satellite lost its connection ${duration(lostForMs)} ago`;
    const lost: ConnectionProblem | null =
      lostForMs > lostMs ? (this.#problem ?? connectionProblem(new Error(why), this.#config.nats)) : null;
    return {
      connection: this.#session === null ? this.#problem : lost,
      isConnected: this.#session !== null,
      fleetConfig: this.#fleetConfig,
      unreadForMs: this.#readAt === null ? null : now - this.#readAt,
      status: this.#status === null ? null : { report: this.#status.report, ageMs: now - this.#status.at },
      upForMs: now - this.#startedAt,
      staleMs: statusStaleMs,
      fleet: this.#fleet,
    };
  }

  /** Connects without a time limit and listens to heartbeats. Never throws. */
  async connect(home: string, signal: AbortSignal): Promise<void> {
    const { nats, pod } = this.#config;
    const session = await connectNats({
      ...nats,
      name: `webcapture satellite ${pod}`,
      inboxPrefix: inboxPrefixOf(`satellite.${home}`),
      log: this.#log,
      signal,
      onProblem: (problem) => this.#note(problem),
    }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      return null;
    });
    if (session === null) return;
    session.onStatus((status) => this.#follow(status));
    this.#live = new Entries(session, 'live', 'by-subject');
    this.#session = session;
    this.#note(null);
    const bucket = `${session.kvPrefix}.${prefixed('live')}.`;
    session.nc.subscribe(`${bucket}fleet.*.*`, {
      callback: (error, message) => {
        if (error !== null || message.data.length > maxHeartbeatBytes) return;
        // Each message is a separate heartbeat.
        this.#fleet.apply(message.subject.slice(bucket.length), valueOf(message.data), ++this.#heartbeats);
      },
    });
  }

  async close(): Promise<void> {
    await this.#session?.nc.close();
  }

  put(key: string, value: unknown, options: { ttlSeconds?: number }): Promise<number> {
    if (this.#live === null) throw new Error('not connected to NATS');
    return this.#live.put(key, value, options);
  }

  /** Reads what the hub wrote, if there is a connection. Throws when NATS does not answer. */
  async read(): Promise<typeof skipped | undefined> {
    if (this.#live === null || !this.connected) return skipped;
    const [config, status] = await withDeadline(
      Promise.all([this.#live.get<FleetConfig>(fleetConfigKey), this.#live.get<StatusReport>('status')]),
      readMs,
      'reading the configuration and status of the hub',
    );
    this.#readAt = performance.now();
    this.#lostAt = null;
    this.#fleetConfig = config?.value ?? null;
    this.#check.compare(this.#fleetConfig);
    // A status that was read before has aged meanwhile. Its age is measured by this clock, since the hub's may differ.
    if (status !== null && status.value.at !== this.#status?.report.at) {
      this.#status = { report: status.value, at: performance.now() };
    }
    return undefined;
  }

  #follow(status: Status): void {
    if (status.type === 'disconnect') this.#lostAt ??= performance.now();
    if (status.type === 'error' && status.error instanceof AuthorizationError) {
      this.#note(connectionProblem(status.error, this.#config.nats));
    }
    // The problem of the connection ends when NATS is connected again.
    if (status.type === 'reconnect') this.#note(null);
  }

  #note(problem: ConnectionProblem | null): void {
    this.#problem = problem;
    if (problem?.reason === 'AuthenticationFailed') this.#refusedSince ??= performance.now();
    else this.#refusedSince = null;
  }
}

/** Returns the heartbeat; null if it was withdrawn. */
function valueOf(data: Uint8Array): unknown {
  if (data.length === 0) return null;
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    return undefined;
  }
}
