// @module-tag long
import { expect, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { anyAddress } from '@webcapture/shared/runtime/listen-address.ts';
import { readControllerConfig } from '../../../services/controller/config.ts';
import { provision, type StreamSettings } from '../../../services/controller/streams.ts';
import { passwordOf, secretKeyOf, startChartNats } from '../../harness/chart-nats.ts';
import { envOf, find, helmDeadlineMs, podOf, render, type KubeObject } from '../../harness/helm.ts';
import { silentLog } from '../../harness/nats-session.ts';

const controllerOf = (objects: readonly KubeObject[]) => find(objects, 'Deployment', 'wc-webcapture-controller');

/** The limits that the chart gives to the controller. */
function settingsOf(objects: readonly KubeObject[]): StreamSettings {
  const env = { ...envOf(controllerOf(objects)), WEBCAPTURE_POD: 'p', WEBCAPTURE_NATS_PASSWORD: 'x' };
  return readControllerConfig({ ...env, WEBCAPTURE_KUBERNETES: 'off' }).streams;
}

/** Starts a NATS server as the chart does, and runs `work` with a connection of the controller. */
async function withServer(
  objects: readonly KubeObject[],
  work: (session: Awaited<ReturnType<typeof connectNats>>) => Promise<void>,
  host = '127.0.0.1',
): Promise<void> {
  const nats = await startChartNats(objects);
  try {
    const password = podOf(controllerOf(objects))?.containers[0]?.env?.find(
      ({ name }) => name === 'WEBCAPTURE_NATS_PASSWORD',
    );
    const session = await connectNats({
      url: nats.url.replace('127.0.0.1', host),
      user: 'controller',
      password: passwordOf(objects, password && secretKeyOf(password)),
      inboxPrefix: '_INBOX.controller',
      name: 'test',
      log: silentLog,
      signal: AbortSignal.timeout(30_000),
    });
    try {
      await work(session);
    } finally {
      await session.nc.close();
    }
  } finally {
    await nats.server.stop({ graceMs: 0 });
  }
}

const bucket = { storage: { type: 'gcs', gcs: { bucket: 'captures' } }, renderer: { runtimeClassName: 'gvisor' } };

test.each<[string, object]>([
  ['1 GiB', { nats: { persistence: { size: '1Gi' } } }],
  ['2 GiB', { nats: { persistence: { size: '2Gi' } } }],
  ['3 GiB', { nats: { persistence: { size: '3Gi' } } }],
  ['1 GiB with a bucket', { ...bucket, nats: { persistence: { size: '1Gi' } } }],
  ['64 MiB in an emptyDir volume', { nats: { persistence: { enabled: false }, emptyDirSizeLimit: '64Mi' } }],
])(
  'the server accepts the streams on a volume of %s, and none that is larger by a MiB',
  async (_, values) => {
    const objects = await render(values);
    await withServer(objects, async ({ jsm, js }) => {
      const settings = settingsOf(objects);
      await provision(jsm, settings, ['us-east']);
      expect(await jsm.streams.names().next()).toHaveLength(Object.keys(streamNames).length);
      // Streams without a limit share the unused space.
      await js.publish('captures.us-east.interactive.0', 'job');
      const { files } = settings.maxBytes;
      const larger = { ...settings, maxBytes: { ...settings.maxBytes, files: files + 1024 ** 2 } };
      await expect(provision(jsm, larger, ['us-east'])).rejects.toThrow(/insufficient storage|exceeds/);
    });
  },
  helmDeadlineMs,
);

test.each<[object, RegExp]>([
  [{ nats: { persistence: { size: '40Mi' } } }, /nats\.persistence\.size: must be at least 1Gi, .*reserve 33 MiB/],
  [
    { nats: { persistence: { enabled: false }, emptyDirSizeLimit: '40Mi' } },
    /nats\.emptyDirSizeLimit: must be at least 1Gi, .*; 40Mi leaves it 32 MiB/,
  ],
  [
    { nats: { persistence: { size: '4Gi' } }, streamMaxBytes: { cache: 1024 ** 3 } },
    /nats\.persistence\.size: must be at least 11Gi, because the streams reserve 3956 MiB/,
  ],
])(
  'refuses %j, because JetStream would refuse a stream',
  async (values, message) => {
    await expect(render(values)).rejects.toThrow(message);
  },
  helmDeadlineMs,
);

test(
  'the size in the message is the smallest that is accepted',
  async () => {
    const sized = (size: string) => ({ nats: { persistence: { size } }, streamMaxBytes: { cache: 1024 ** 3 } });
    await expect(render(sized('10Gi'))).rejects.toThrow('must be at least 11Gi');
    const objects = await render(sized('11Gi'));
    await withServer(objects, ({ jsm }) => provision(jsm, settingsOf(objects), ['us-east']));
  },
  helmDeadlineMs,
);

test.runIf(anyAddress === '::')(
  'the server accepts connections over IPv6',
  async () => {
    await withServer(await render(), async ({ nc }) => expect(await nc.rtt()).toBeGreaterThanOrEqual(0), '[::1]');
  },
  helmDeadlineMs,
);
