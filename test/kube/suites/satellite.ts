import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { type FleetConfig, fleetConfigKey } from '@webcapture/shared/queue/fleet-config.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { Shutdown } from '@webcapture/shared/runtime/shutdown.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { readControllerConfig } from '../../../services/controller/config.ts';
import { startSatellite } from '../../../services/controller/satellite.ts';
import { startDelayProxy, type DelayProxy } from '../../harness/delay-proxy.ts';
import { tokens, type ControlPlane } from '../../harness/control-plane.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { userOf } from '../../harness/nats-users.ts';
import { startTlsNats, type TlsNats } from '../../harness/tls-nats.ts';
import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../integration/controller/support/stand-in-renderer.ts';
import { recordingLog, type LogLine } from '../../integration/controller/support/recording-log.ts';
import { reportOf } from '../../integration/controller/support/status.ts';
import { TestController } from '../../integration/controller/support/test-controller.ts';
import { sharedPlane } from '../support/shared-plane.ts';
import { release, TestNamespace } from '../support/test-namespace.ts';

/** The controller of a satellite in the process of the test. */
interface Satellite {
  readonly namespace: TestNamespace;
  readonly lines: LogLine[];
  readonly opsUrl: string;
  stop(): Promise<void>;
}

describe('a satellite', { timeout: 120_000 }, () => {
  let plane: ControlPlane;
  let nats: TlsNats;
  let link: DelayProxy;
  let session: NatsSession;
  let hub: TestController;
  let joined: Satellite;
  const cleanUp: (() => Promise<void>)[] = [];

  /** Starts a satellite as the chart does, with the user of its first region. */
  async function startIn(regions: string, env: Record<string, string> = {}): Promise<Satellite> {
    const namespace = await TestNamespace.create(plane);
    const region = regions.split(':')[0] as Region;
    await Promise.all([namespace.addRegion(region), namespace.addDeployment(region, 1)]);
    const lines: LogLine[] = [];
    const log = recordingLog(lines);
    const shutdown = new Shutdown(log, 8000);
    const config = readControllerConfig({
      WEBCAPTURE_ROLE: 'satellite',
      WEBCAPTURE_POD: `satellite-${namespace.name}`,
      WEBCAPTURE_OPS_HOST: '127.0.0.1',
      WEBCAPTURE_OPS_PORT: '0',
      WEBCAPTURE_NATS_URL: nats.url,
      WEBCAPTURE_NATS_CA_FILE: nats.files.ca,
      WEBCAPTURE_NATS_TLS_SERVER_NAME: 'nats.test',
      ...userOf('satellite', region),
      WEBCAPTURE_REGIONS: regions,
      WEBCAPTURE_KUBERNETES: 'on',
      WEBCAPTURE_RELEASE: release,
      KUBECONFIG: await plane.kubeconfig(namespace.name, tokens.controller),
      ...env,
    });
    const port = await startSatellite(config, { log, shutdown, metrics: createMetrics('controller') });
    const stop = async () => void (await shutdown.run());
    cleanUp.push(stop);
    return { namespace, lines, opsUrl: `http://127.0.0.1:${port}`, stop };
  }

  /** Returns status, reason and message of the condition Ready, and the status of the region. */
  async function readyOf({ namespace }: Satellite, region: Region) {
    const { status } = await namespace.region(region);
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    return ready === undefined ? undefined : [ready.status, ready.reason, ready.message, status?.status];
  }

  const untilReady = (satellite: Satellite, region: Region, reason: string) =>
    until(`the region to have the reason ${reason}`, async () => {
      const [status = '', found, message = '', state = ''] = (await readyOf(satellite, region)) ?? [];
      if (found === reason) return { status, message, state };
      throw new Error(`it has ${found}: ${message}`);
    });

  const connectAs = (service: 'renderer' | 'satellite') => {
    const user = userOf(service, 'asia-southeast');
    return connectNats({
      url: nats.url,
      tls: { caFile: nats.files.ca, serverName: 'nats.test', handshakeFirst: false },
      user: user.WEBCAPTURE_NATS_USER,
      password: user.WEBCAPTURE_NATS_PASSWORD,
      inboxPrefix: `_INBOX.${service}.asia-southeast`,
      name: 'test',
      log: silentLog,
      signal: AbortSignal.timeout(30_000),
    });
  };

  const engine = async (name: string) => (await reportOf(session))?.components.find((each) => each.name === name);

  beforeAll(async () => {
    [plane, nats] = await Promise.all([sharedPlane(), startTlsNats()]);
    link = await startDelayProxy({ upstream: { host: '127.0.0.1', port: nats.port }, roundTripMs: 0 });
    session = await connectNats({
      url: nats.testerUrl,
      tls: { caFile: nats.files.ca, serverName: 'nats.test', handshakeFirst: false },
      name: 'test',
      log: silentLog,
      signal: AbortSignal.timeout(30_000),
    });
    const namespace = await TestNamespace.create(plane);
    await Promise.all([namespace.addRegion('us-east'), namespace.addDeployment('us-east', 0)]);
    hub = await TestController.start({
      WEBCAPTURE_NATS_URL: nats.url,
      WEBCAPTURE_NATS_CA_FILE: nats.files.ca,
      WEBCAPTURE_NATS_TLS_SERVER_NAME: 'nats.test',
      ...userOf('controller'),
      WEBCAPTURE_REGIONS: 'us-east:0,asia-southeast:1',
      WEBCAPTURE_KUBERNETES: 'on',
      WEBCAPTURE_RELEASE: release,
      KUBECONFIG: await plane.kubeconfig(namespace.name, tokens.controller),
    });
    await until('the hub to lead', async () => (await hub.metric('webcapture_controller_leader')) === 1);
    joined = await startIn('asia-southeast:1', { WEBCAPTURE_NATS_URL: link.url.replace('nats:', 'tls:') });
    await joined.namespace.addPod('asia-1', 'asia-southeast');
  });
  afterAll(async () => {
    for (const stop of cleanUp) await stop();
    await hub.stop();
    await session.nc.close();
    await link[Symbol.asyncDispose]();
    await nats[Symbol.asyncDispose]();
  });

  test('reports its pods to the hub, and shows the status from the hub in its cluster', async () => {
    const asRenderer = await connectAs('renderer');
    const renderer = new StandInRenderer(asRenderer, 'asia-southeast', 'asia-1');
    cleanUp.push(async () => {
      await renderer.stop();
      await asRenderer.nc.close();
    });
    await until('the hub to count the renderer', async () => {
      const { message, status } = (await engine('engine.asia-southeast')) ?? {};
      if (status === 'operational' && message === '1 of 1 renderers healthy') return true;
      throw new Error(`${status}: ${message}`);
    });
    expect(await untilReady(joined, 'asia-southeast', 'Operational')).toEqual({
      status: 'True',
      message: '1 of 1 renderers healthy',
      state: 'operational',
    });
    await until('the numbers of its renderers', async () => {
      const { status } = await joined.namespace.region('asia-southeast');
      return status?.ready === 1 && status.slots === 2 && status.wanted === 1;
    });
    expect((await fetch(`${joined.opsUrl}/readyz`)).status).toBe(200);
    // The value that an autoscaler in the cluster of the satellite reads.
    expect(await (await fetch(`${joined.opsUrl}/scale/asia-southeast`)).json()).toEqual({ value: 0 });
    // The id of the hub is the uid of its Lease in Kubernetes.
    const config = (await new Entries(session, 'live').get<FleetConfig>(fleetConfigKey))?.value;
    expect(config?.hub.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('has the right to report, and no other', async () => {
    const stolen = await connectAs('satellite');
    const may = (subject: string) => stolen.nc.request(subject, '{}', { timeout: 5000 });
    for (const subject of [
      `$JS.API.STREAM.UPDATE.${streamNames.files}`,
      `$JS.API.STREAM.DELETE.${streamNames.files}`,
      `$JS.API.CONSUMER.CREATE.${streamNames.captures}.x`,
      `$JS.API.STREAM.MSG.GET.${streamNames.db}`,
      '$JS.API.DIRECT.GET.KV_db.$KV.db.key.x',
      '$KV.live.config',
      '$KV.live.leader',
      '$KV.live.status',
      '$KV.live.cluster.us-east.x',
      '$KV.live.fleet.asia-southeast.x',
      'captures.asia-southeast.interactive',
    ]) {
      await expect(may(subject), subject).rejects.toThrow(/permissions violation/i);
    }
    await stolen.nc.close();
  });

  test('reports a cut of its link, as does the hub, and both recover', async () => {
    link.pause();
    const lost = await untilReady(joined, 'asia-southeast', 'FleetUnreachable');
    expect(lost).toMatchObject({ status: 'False', state: 'major_outage' });
    expect(lost.message).toMatch(/there is no connection to NATS/);
    await until('the hub to report the silent cluster', async () =>
      /the cluster \S+\/asia-southeast has not been heard for \d+ s/.test(
        (await engine('engine.asia-southeast'))?.message ?? '',
      ),
    );
    link.resume();
    expect((await untilReady(joined, 'asia-southeast', 'Operational')).status).toBe('True');
    await until(
      'the hub to receive its reports',
      async () => (await engine('engine.asia-southeast'))?.message === '1 of 1 renderers healthy',
    );
  });

  test.each<[string, string, () => Record<string, string>, string, RegExp]>([
    [
      'a region that the hub does not have',
      'eu-west:1',
      () => ({}),
      'RegionUnknown',
      /^the hub .* does not have the region eu-west; it has asia-southeast, us-east\. Add it to otherRegions of the hub/,
    ],
    [
      'a wrong password',
      'us-west:1',
      () => ({ WEBCAPTURE_NATS_PASSWORD: 'wrong' }),
      'AuthenticationFailed',
      /refuses satellite-us-west/,
    ],
    [
      'a wrong certificate authority',
      'us-west:1',
      () => ({ WEBCAPTURE_NATS_CA_FILE: nats.files.otherCa }),
      'CertificateInvalid',
      /unable to verify the first certificate/,
    ],
    [
      'no server at the address',
      'us-west:1',
      () => ({ WEBCAPTURE_NATS_URL: 'tls://127.0.0.1:1' }),
      'FleetUnreachable',
      /there is no connection to NATS at tls:\/\/127\.0\.0\.1:1/,
    ],
    [
      'another file store',
      'us-east:1',
      () => ({ WEBCAPTURE_GCS_BUCKET: 'theirs' }),
      'ConfigurationDiffers',
      /keeps files in .*theirs.*, and the hub .* in nats/,
    ],
  ])(
    'with %s is not ready, and shows the reason in its log and its resource',
    async (_, regions, env, reason, words) => {
      const satellite = await startIn(regions, env());
      const readyAnswers: number[] = [];
      // `helm install --wait` ends with the first response 200.
      const probing = setInterval(() => {
        void fetch(`${satellite.opsUrl}/readyz`).then((answer) => readyAnswers.push(answer.status));
      }, 100);
      const { status, message } = await untilReady(satellite, regions.split(':')[0] as Region, reason).finally(() =>
        clearInterval(probing),
      );
      expect(new Set(readyAnswers)).toEqual(new Set([503]));
      expect(status).toBe('False');
      expect(message).toMatch(words);
      const logged = satellite.lines.filter((line) =>
        line.message.startsWith('this satellite does not work in its fleet'),
      );
      expect(logged.map((line) => line.message.split(': ')[1])).toEqual([reason]);
      const readiness = await fetch(`${satellite.opsUrl}/readyz`);
      expect([readiness.status, await readiness.text()]).toEqual([503, expect.stringMatching(words)]);
      if (reason === 'RegionUnknown') {
        await until('the hub to report the unknown region', async () =>
          ((await engine('engine'))?.message ?? '').includes('has renderers of eu-west, which is not installed here'),
        );
      }
      await satellite.stop();
    },
  );

  test('is not ready if the hub does not support its version', async () => {
    const live = new Entries(session, 'live');
    const { value } = (await live.get<FleetConfig>(fleetConfigKey)) ?? {};
    if (value === undefined) throw new Error('there is no configuration');
    // The values are written repeatedly, because the hub restores its configuration.
    const changing = setInterval(
      () => void live.put(fleetConfigKey, { ...value, minSatelliteVersion: '99.0.0' }).catch(() => undefined),
      250,
    );
    const { status, message } = await untilReady(joined, 'asia-southeast', 'VersionUnsupported').finally(() =>
      clearInterval(changing),
    );
    expect(status).toBe('False');
    expect(message).toMatch(/works with 99\.0\.0 or newer\. Upgrade the satellite/);
    await untilReady(joined, 'asia-southeast', 'Operational');
  });
});
