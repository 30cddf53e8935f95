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
  /** As WEBCAPTURE_REGIONS. Each region gets as many renderers as it names. By default one, us-east. */
  readonly regions?: string;
  /** Renderers to start, by region, when they are not those that `regions` names. */
  readonly renderers?: Partial<Record<Region, number>>;
  /** Captures at a time of one renderer. */
  readonly slots?: number;
  readonly fronts?: number;
  readonly key?: string;
  /** Servers of NATS: one, or a cluster of three that keeps three copies of all; by default what WEBCAPTURE_TEST_NODES says. */
  readonly nodes?: 1 | 3;
  /** Where files are kept; by default what WEBCAPTURE_TEST_STORE says, else the embedded one. */
  readonly store?: TestStore;
  /** How far from NATS the renderers of a region are, as the round trip in milliseconds; others stand beside it. */
  readonly roundTripMs?: Partial<Record<Region, number>>;
  /** Variables for all services, on top of the fleet's own. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The embedded store, or a bucket on a server of the fleet's own. */
type TestStore = 'embedded' | 'gcs';

/** What a fleet is made of and where it may write. */
export interface FleetGround {
  readonly tools: ToolPaths;
  readonly tempFolder: string;
}

/** A whole service of real processes, for the tests of one file. */
export interface Fleet extends AsyncDisposable {
  /** Of the first front. */
  readonly url: string;
  readonly urls: readonly string[];
  readonly key: string;
  readonly api: Api;
  readonly usageCheck: UsageCheck;
  readonly nats: NatsBroker;
  /** The cluster where there are three servers; throws where there is one. */
  readonly cluster: NatsCluster;
  readonly fronts: readonly ServiceProcess[];
  readonly controller: ServiceProcess;
  readonly renderers: readonly ServiceProcess[];
  /** The nth renderer of a region. */
  readonly renderer: (region: Region, index?: number) => ServiceProcess;
  /** The link between the renderers of a region and NATS, if `roundTripMs` names the region. */
  readonly link: (region: Region) => DelayProxy;
  /** Waits until the fleet knows of so many renderers that take captures. */
  readonly serving: (region: Region, count: number) => Promise<void>;
  /** Waits until GET /status says that all is well. */
  readonly operational: () => Promise<void>;
  /** Ends every process and removes every file. */
  readonly stop: () => Promise<void>;
}

/** Loopback is open to captures only at the address of the test site; 127.0.0.2 stands for the inside of a network. */
export const testSites = '127.0.0.1/32';

/**
 * Starts a fleet on ports and in a folder of its own, and waits until it takes captures. Throws, with the last lines of
 * the part that failed, when it does not come up; nothing is left then.
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
    await until(`${count} renderers of ${region} to take captures`, () => usageCheck.serving(region).length === count);
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
      if (cluster === undefined) throw new Error('the fleet has one server of NATS, no cluster');
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
      await until('GET /status to say operational', async () => (await fetch(`${url}/status`)).status === 200, {
        intervalMs: 100,
      });
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** `WEBCAPTURE_TEST_STORE`, which each project of tests sets unless it was set outside. */
function testStore(): TestStore {
  const chosen = process.env['WEBCAPTURE_TEST_STORE'] ?? 'embedded';
  if (chosen !== 'gcs' && chosen !== 'embedded') throw new Error('WEBCAPTURE_TEST_STORE must be gcs or embedded');
  return chosen;
}

/** `WEBCAPTURE_TEST_NODES`, so that what is tested on one server can be tested on three; one unless it was set outside. */
function testNodes(): 1 | 3 {
  const chosen = process.env['WEBCAPTURE_TEST_NODES'] ?? '1';
  if (chosen !== '1' && chosen !== '3') throw new Error('WEBCAPTURE_TEST_NODES must be 1 or 3');
  return chosen === '3' ? 3 : 1;
}

/** All that a service sees of the outside: nothing of the environment that the tests were started in gets through. */
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
