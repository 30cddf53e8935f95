import { join } from 'node:path';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { NatsBroker } from './broker.ts';
import { ClusterNode } from './cluster-node.ts';
import { provision } from '../../services/controller/streams.ts';
import { startDelayProxy, type DelayProxy } from './delay-proxy.ts';
import { freePort } from './free-port.ts';
import { streamSettings } from './nats-session.ts';
import { usersConfig } from './nats-users.ts';
import { until } from './until.ts';

export interface NatsClusterOptions {
  /** Names of the folders of the three servers. */
  readonly folder: string;
  readonly toolPath: string;
}

const size = 3;

/** Time for servers to replay what they missed, on a busy machine. */
const readyDeadlineMs = 60_000;

const log = createLogger({ service: 'test', pod: 'cluster', level: 'silent' });

/** Starts three servers as one cluster with JetStream, and waits until the cluster accepts streams. */
export async function startNatsCluster(options: NatsClusterOptions): Promise<NatsCluster> {
  return NatsCluster.start(options);
}

/**
 * Three real nats-servers in one cluster. Each keeps its ports and its folder after restarts, and reaches each of the others
 * through a separate proxy, so that it can be partitioned from them. Clients connect to every server directly.
 */
export class NatsCluster implements NatsBroker, AsyncDisposable {
  /** URLs of the three servers, in the format of WEBCAPTURE_NATS_URL. */
  readonly urls: string;
  readonly #nodes: readonly ClusterNode[];
  readonly #routes: ReadonlyMap<string, DelayProxy>;
  /** Uses whichever node is running. */
  #session: NatsSession | undefined;
  readonly #stop = new AbortController();

  private constructor(nodes: readonly ClusterNode[], routes: ReadonlyMap<string, DelayProxy>) {
    this.#nodes = nodes;
    this.#routes = routes;
    this.urls = nodes.map(({ url }) => url).join(',');
  }

  static async start({ folder, toolPath }: NatsClusterOptions): Promise<NatsCluster> {
    const ports = await Promise.all(Array.from({ length: size * 3 }, () => freePort()));
    const portsOf = (index: number) => {
      const [client = 0, cluster = 0, monitor = 0] = ports.slice(index * 3, index * 3 + 3);
      return { client, cluster, monitor };
    };
    const routes = new Map<string, DelayProxy>();
    const indexes = Array.from({ length: size }, (_, index) => index);
    for (const from of indexes) {
      for (const to of indexes.filter((index) => index !== from)) {
        const upstream = { host: '127.0.0.1', port: portsOf(to).cluster };
        routes.set(`${from}-${to}`, await startDelayProxy({ upstream, roundTripMs: 0 }));
      }
    }
    const nodes = indexes.map((index) => {
      const others = indexes.flatMap((to) => routes.get(`${index}-${to}`)?.port ?? []);
      const { client, cluster, monitor } = portsOf(index);
      return new ClusterNode({
        name: nodeName(index),
        dataDir: join(folder, nodeName(index)),
        toolPath,
        port: client,
        monitorPort: monitor,
        config: `${clusterConfig({ port: cluster, routes: [cluster, ...others], monitor })}${usersConfig}`,
      });
    });
    const made = new NatsCluster(nodes, routes);
    try {
      await made.start();
      await made.ready();
      return made;
    } catch (error) {
      await made.stop();
      throw error;
    }
  }

  get url(): string {
    return this.urls;
  }

  /** Applies to all running nodes. */
  get pids(): readonly number[] {
    return this.#nodes.filter(({ isRunning }) => isRunning).map(({ pid }) => pid);
  }

  node(index: number): ClusterNode {
    const node = this.#nodes[index];
    if (node === undefined) throw new RangeError(`the cluster has no node ${index}`);
    return node;
  }

  /** Returns the running node that leads a stream, once there is one. */
  async leaderOf(stream: string): Promise<number> {
    return this.#leader(`a leader of ${stream}`, `STREAM.INFO.${stream}`);
  }

  async leaderOfConsumer(stream: string, durable: string): Promise<number> {
    return this.#leader(`a leader of the consumer ${durable} of ${stream}`, `CONSUMER.INFO.${stream}.${durable}`);
  }

  /** Makes a node the leader of a stream. */
  async makeLeader(stream: string, index: number): Promise<void> {
    const { nc } = await this.session();
    const { name } = this.node(index);
    const order = JSON.stringify({ placement: { preferred: name } });
    await until(
      `${name} to lead ${stream}`,
      async () => {
        if ((await this.leaderOf(stream)) === index) return true;
        await nc.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, order, { timeout: 2000 });
        return false;
      },
      { intervalMs: 100 },
    );
  }

  /** Returns the names of all streams. */
  async streams(): Promise<readonly string[]> {
    const session = await this.session();
    const names: string[] = [];
    for await (const name of session.jsm.streams.names()) names.push(name);
    return names;
  }

  /** Creates all streams and durables with three replicas. Like a controller, it retries until each has elected its leader in time. */
  async provision(regions: readonly Region[]): Promise<void> {
    const { jsm } = await this.session();
    await until('streams and durables', async () => {
      await provision(jsm, { ...streamSettings, replicas: size }, regions);
      return true;
    });
    await this.ready();
  }

  /** Holds all traffic between a node and the others until `heal`. Clients still reach the node. */
  partition(index: number): void {
    for (const [name, route] of this.#routes) if (name.split('-').includes(String(index))) route.pause();
  }

  heal(): void {
    for (const route of this.#routes.values()) route.resume();
  }

  /**
   * Waits until the running nodes form a healthy cluster: each reports that it is current with all that it replicates, and the
   * leader of each stream and durable reports the same for all its replicas.
   */
  async ready(deadlineMs = readyDeadlineMs): Promise<void> {
    let missing = 'nothing was asked';
    try {
      await until(
        'the cluster to be healthy',
        async () => {
          const found = await this.#missing();
          missing = found ?? '';
          return found === null;
        },
        { deadlineMs, intervalMs: 100 },
      );
    } catch (error) {
      throw new Error(`the cluster did not become healthy: ${missing}`, { cause: error });
    }
  }

  /** Upgrades the cluster: stops and starts one node after another, and waits until each is healthy. */
  async rollingRestart(): Promise<void> {
    for (const node of this.#nodes) {
      await node.kill('SIGTERM');
      await node.start();
      await this.ready();
    }
  }

  /** Ends all faults: resumes nodes that hang, starts nodes that were stopped, and joins partitioned nodes. */
  async repair(): Promise<void> {
    this.heal();
    this.signal('SIGCONT');
    await this.start();
    await this.ready();
  }

  /** Ends every running node. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await Promise.all(this.#nodes.filter(({ isRunning }) => isRunning).map((node) => node.kill(signal)));
  }

  /** Starts every node that is not running. */
  async start(): Promise<void> {
    await Promise.all(this.#nodes.filter(({ isRunning }) => !isRunning).map((node) => node.start()));
  }

  async restart(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.kill(signal);
    await this.start();
  }

  /** Sends a signal to every running node, without waiting. */
  signal(signal: NodeJS.Signals): void {
    for (const node of this.#nodes) if (node.isRunning) node.signal(signal);
  }

  logs(): string {
    return this.#nodes.map((node) => node.logs()).join('\n');
  }

  violations(): readonly string[] {
    return this.#nodes.flatMap((node) => node.violations());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#session?.nc.close();
    await Promise.all(this.#nodes.map((node) => node.dispose()));
    await Promise.all([...this.#routes.values()].map((route) => route[Symbol.asyncDispose]()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A connection with all permissions, through any running node. */
  async session(): Promise<NatsSession> {
    this.#session ??= await connectNats({ url: this.urls, name: 'test-cluster', log, signal: this.#stop.signal });
    return this.#session;
  }

  /** Returns a description of the problem of the cluster; null if it is healthy. */
  async #missing(): Promise<string | null> {
    const running = this.#nodes.filter(({ isRunning }) => isRunning);
    for (const node of running) {
      const health = await node.health();
      if (health !== 'ok') return `${node.name}: ${health}`;
    }
    const names = new Set(running.map(({ name }) => name));
    const { jsm } = await this.session();
    for await (const { config, cluster } of jsm.streams.list()) {
      const lack = lackOf(cluster, names);
      if (lack !== null) return `stream ${config.name}: ${lack}`;
      for await (const consumer of jsm.consumers.list(config.name)) {
        // Other consumers have one replica, and their client creates them again.
        const consumerLack = consumer.config.durable_name === undefined ? null : lackOf(consumer.cluster, names);
        if (consumerLack !== null) return `consumer ${consumer.name} of ${config.name}: ${consumerLack}`;
      }
    }
    return null;
  }

  async #leader(what: string, question: string): Promise<number> {
    const { nc } = await this.session();
    const { index } = await until(
      what,
      async () => {
        // Without a leader there is no response, so the timeout is short and the query is repeated.
        const reply = await nc.request(`$JS.API.${question}`, '', { timeout: 500 });
        const leader = reply.json<{ cluster?: ClusterInfo }>().cluster?.leader;
        const found = this.#nodes.findIndex(({ name, isRunning }) => name === leader && isRunning);
        return found >= 0 && { index: found };
      },
      { deadlineMs: 30_000, intervalMs: 50 },
    );
    return index;
  }
}

const nodeName = (index: number) => `nats-${index}`;

/** `routes` also contains the node's own port, because NATS waits for this number of servers before it elects the first leader. */
function clusterConfig({
  port,
  routes,
  monitor,
}: {
  port: number;
  routes: readonly number[];
  monitor: number;
}): string {
  return `
http: "127.0.0.1:${monitor}"
cluster {
  name: "test"
  listen: "127.0.0.1:${port}"
  # Servers announce this address to each other. No server listens there, so every route uses its proxy.
  cluster_advertise: "127.0.0.1:1"
  routes: ${JSON.stringify(routes.map((route) => `nats://127.0.0.1:${route}`))}
}
`;
}

interface ClusterInfo {
  readonly leader?: string;
  readonly replicas?: readonly { readonly name: string; readonly current: boolean }[];
}

/** Returns why a stream or consumer is not healthy: its leader is missing, or a replica on a running node is not current. Otherwise null. */
function lackOf(cluster: ClusterInfo | undefined, running: ReadonlySet<string>): string | null {
  if (cluster?.leader === undefined || !running.has(cluster.leader)) return 'no leader';
  const behind = cluster.replicas?.find(({ name, current }) => running.has(name) && !current);
  return behind === undefined ? null : `its replica on ${behind.name} is not current`;
}
