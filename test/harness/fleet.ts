import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { parseRegions, type Region } from '@webcapture/shared/runtime/regions.ts';
import { Api } from './api.ts';
import { UsageCheck } from './usage-check.ts';
import { Broker, type NatsBroker } from './broker.ts';
import { startTestBucket } from './bucket.ts';
import { type DelayProxy, startDelayProxy } from './delay-proxy.ts';
import { freePort } from './free-port.ts';
import { type NatsCluster, startNatsCluster } from './nats-cluster.ts';
import { userOf } from './nats-users.ts';
import { once } from './once.ts';
import { AnswerCheck } from './openapi.ts';
import { ServiceProcess } from './service-process.ts';
import { removeFolder } from './temp-folder.ts';
import type { ToolPaths } from './tools.ts';
import { until } from './until.ts';

export interface FleetOptions {
  /** Regions in the format of WEBCAPTURE_REGIONS, with the number of renderers to start in each. Default: one renderer in us-east. */
  readonly regions?: string;
  /** Number of renderers to start by region, if it differs from `regions`. */
  readonly renderers?: Partial<Record<Region, number>>;
  /** Slots of each renderer. */
  readonly slots?: number;
  readonly fronts?: number;
  readonly key?: string;
  /** NATS servers: one, or a cluster of three with three replicas; the default is WEBCAPTURE_TEST_NODES. */
  readonly nodes?: 1 | 3;
  /** File store; the default is WEBCAPTURE_TEST_STORE, or else the embedded store. */
  readonly store?: TestStore;
  /** Round trip in milliseconds between the renderers of a region and NATS; other regions have no delay. */
  readonly roundTripMs?: Partial<Record<Region, number>>;
  /** Additional variables for all services. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The embedded store, or a bucket on a server that only this fleet uses. */
type TestStore = 'embedded' | 'gcs';

/** The resources of a fleet. */
export interface FleetGround {
  readonly tools: ToolPaths;
  readonly tempFolder: string;
}

/** All services as real processes, for the tests of one file. */
export interface Fleet extends AsyncDisposable {
  /** URL of the first front. */
  readonly url: string;
  readonly urls: readonly string[];
  readonly key: string;
  readonly api: Api;
  readonly usageCheck: UsageCheck;
  readonly nats: NatsBroker;
  /** The cluster of three servers; throws if there is one server. */
  readonly cluster: NatsCluster;
  readonly fronts: readonly ServiceProcess[];
  readonly controller: ServiceProcess;
  readonly renderers: readonly ServiceProcess[];
  /** Returns the nth renderer of a region. */
  readonly renderer: (region: Region, index?: number) => ServiceProcess;
  /** Returns the link between the renderers of a region and NATS, if `roundTripMs` names the region. */
  readonly link: (region: Region) => DelayProxy;
  /** Waits until the fleet has this number of renderers that accept captures. */
  readonly serving: (region: Region, count: number) => Promise<void>;
  /** Waits until GET /status reports that all components are operational. */
  readonly operational: () => Promise<void>;
  /** Ends every process and removes every file. */
  readonly stop: () => Promise<void>;
}

/** The address of the test site, which is the only loopback address that captures can reach. 127.0.0.2 represents an internal network. */
export const testSites = '127.0.0.1/32';

/**
 * Starts a fleet on new ports and in a new folder, and waits until it accepts captures. If a process does not start, throws with
 * its last log lines, after removing everything.
 */
export async function startFleet(ground: FleetGround, options: FleetOptions = {}): Promise<Fleet> {
  const folder = await mkdtemp(join(ground.tempFolder, 'f-'));
  const cleanUp: (() => Promise<unknown>)[] = [() => removeFolder(folder)];
  const stop = async () => {
    for (const step of cleanUp.splice(0).toReversed()) await step();
  };
  try {
    return await assemble({ tools: ground.tools, folder }, options, cleanUp, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function assemble(
  { tools, folder }: { tools: ToolPaths; folder: string },
  options: FleetOptions,
  cleanUp: (() => Promise<unknown>)[],
  stop: () => Promise<void>,
): Promise<Fleet> {
  const { regions = 'us-east:1', key = 'test-key-of-a-fleet', fronts: frontCount = 1 } = options;
  const cluster =
    (options.nodes ?? testNodes()) === 3 ? await startNatsCluster({ folder, toolPath: tools.natsServer }) : undefined;
  const nats = cluster ?? (await Broker.start(folder, tools.natsServer));
  cleanUp.push(() => nats.stop());

  const bucket = (options.store ?? testStore()) === 'gcs' ? await startTestBucket() : undefined;
  cleanUp.push(async () => bucket?.[Symbol.asyncDispose]());
  const storage = bucket && { WEBCAPTURE_GCS_BUCKET: bucket.bucket, WEBCAPTURE_GCS_ENDPOINT: bucket.endpoint };
  const replicas = cluster && { WEBCAPTURE_NATS_REPLICAS: '3' };
  const extra = { ...storage, ...replicas, ...options.env };
  const env = serviceEnv(folder, { natsUrl: nats.url, regions, extra });
  const ports = await Promise.all(Array.from({ length: frontCount }, () => freePort()));
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const controller = await ServiceProcess.prepare('controller', 'controller', {
    WEBCAPTURE_PUBLIC_URL: urls[0],
    ...userOf('controller'),
    ...env,
  });
  const fronts = await Promise.all(
    ports.map((port, index) =>
      ServiceProcess.prepare(`front-${index}`, 'front', {
        PORT: String(port),
        WEBCAPTURE_HOST: '127.0.0.1',
        WEBCAPTURE_PUBLIC_URL: urls[0],
        WEBCAPTURE_API_KEY: key,
        ...userOf('front'),
        ...env,
      }),
    ),
  );
  const wanted = parseRegions(regions).map(({ region, minRenderers }) => ({
    region,
    count: options.renderers === undefined ? minRenderers : (options.renderers[region] ?? 0),
  }));
  const renderers: { region: Region; part: ServiceProcess }[] = [];
  const links = new Map<Region, DelayProxy>();
  for (const { region, count } of wanted) {
    const roundTripMs = options.roundTripMs?.[region];
    const distance =
      roundTripMs === undefined ? null : await startDelayProxy({ upstream: addressOf(nats.url), roundTripMs });
    if (distance !== null) {
      links.set(region, distance);
      cleanUp.push(async () => distance[Symbol.asyncDispose]());
    }
    for (let index = 0; index < count; index++) {
      const part = await ServiceProcess.prepare(`renderer-${region}-${index}`, 'renderer', {
        WEBCAPTURE_REGION: region,
        WEBCAPTURE_SLOTS: String(options.slots ?? 2),
        WEBCAPTURE_HEADLESS_SHELL_PATH: tools.headlessShell,
        WEBCAPTURE_CHROMIUM_PATH: tools.chromium,
        WEBCAPTURE_CHROMIUM_SANDBOX: tools.sandbox,
        WEBCAPTURE_FILTERS_PATH: tools.filters,
        ...userOf('renderer', region),
        ...env,
        ...(distance === null ? {} : { WEBCAPTURE_NATS_URL: distance.url }),
      });
      renderers.push({ region, part });
    }
  }
  const parts = [controller, ...fronts, ...renderers.map(({ part }) => part)];
  cleanUp.push(() => Promise.all(parts.map((part) => part.stop())));
  await Promise.all(parts.map((part) => part.start()));

  const usageCheck = await UsageCheck.open(nats.url, key);
  cleanUp.push(() => usageCheck.close());
  const url = urls[0] ?? '';
  const check = once(() => AnswerCheck.load(`${url}/openapi.json`));
  const serving = async (region: Region, count: number) => {
    await until(
      `${count} renderers of ${region} to accept captures`,
      () => usageCheck.serving(region).length === count,
    );
  };
  for (const { region, count } of wanted) if (count > 0) await serving(region, count);

  return {
    url,
    urls,
    key,
    api: new Api({ url, key, check }),
    usageCheck,
    nats,
    get cluster() {
      if (cluster === undefined) throw new Error('the fleet has one NATS server, not a cluster');
      return cluster;
    },
    fronts,
    controller,
    renderers: renderers.map(({ part }) => part),
    renderer: (region, index = 0) => {
      const found = renderers.filter((renderer) => renderer.region === region)[index];
      if (found === undefined) throw new Error(`the fleet has no renderer ${index} of ${region}`);
      return found.part;
    },
    link: (region) => {
      const found = links.get(region);
      if (found === undefined)
        throw new Error(`the renderers of ${region} have no link: name the region in roundTripMs`);
      return found;
    },
    serving,
    operational: async () => {
      await until('GET /status to report operational', async () => (await fetch(`${url}/status`)).status === 200, {
        intervalMs: 100,
      });
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** `WEBCAPTURE_TEST_STORE`, which each test project sets unless the environment already sets it. */
function testStore(): TestStore {
  const chosen = process.env['WEBCAPTURE_TEST_STORE'] ?? 'embedded';
  if (chosen !== 'gcs' && chosen !== 'embedded') throw new Error('WEBCAPTURE_TEST_STORE must be gcs or embedded');
  return chosen;
}

/** `WEBCAPTURE_TEST_NODES`, so that tests can run with one server or three; one by default. */
function testNodes(): 1 | 3 {
  const chosen = process.env['WEBCAPTURE_TEST_NODES'] ?? '1';
  if (chosen !== '1' && chosen !== '3') throw new Error('WEBCAPTURE_TEST_NODES must be 1 or 3');
  return chosen === '3' ? 3 : 1;
}

/** The whole environment of a service: it inherits nothing from the environment of the tests. */
function serviceEnv(
  folder: string,
  options: { natsUrl: string; regions: string; extra?: Readonly<Record<string, string>> },
): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: folder,
    TMPDIR: folder,
    WEBCAPTURE_NATS_URL: options.natsUrl,
    WEBCAPTURE_REGIONS: options.regions,
    WEBCAPTURE_EGRESS_ALLOW: testSites,
    WEBCAPTURE_LOG_LEVEL: 'debug',
    ...options.extra,
  };
}

function addressOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
