// @module-tag long
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { OverallStatus } from '@webcapture/shared/api/status.ts';
import type { Answer } from '../harness/api.ts';
import { bucketSetUpMs, startTestBucket } from '../harness/bucket.ts';
import { type DelayProxy, startDelayProxy } from '../harness/delay-proxy.ts';
import { startFaultProxy, type FaultProxy } from '../harness/fault-proxy.ts';
import { type Fleet, type FleetOptions, startFleet } from '../harness/fleet.ts';
import { useSite } from '../harness/use.ts';
import { busy } from '../integration/shared/support/faulty-bucket.ts';
import { expectBalance } from './accounts-balance.ts';

/**
 * The tests run in parallel with separate fleets, because they mostly wait. WEBCAPTURE_TEST_LONG_CUT=600 sets the duration of the long cuts
 * in seconds; the default is 150.
 */
const longCutMs = Number(process.env['WEBCAPTURE_TEST_LONG_CUT'] ?? 150) * 1000;
const shortCutMs = 30_000;
/** Additional time for reconnecting, and for rendering the captures that wait. */
const limits = { timeout: longCutMs + 300_000 };
const natsOutageMs = Math.max(180_000, longCutMs);
const bucketOutageMs = longCutMs;

/** With these options a renderer tries to store a capture for 65 s, or 71 s. */
const options = { timeout: 5000, imageTimeout: 0, viewport: { width: 160, height: 90 }, background: true };

/** The time is longer than an attempt to publish a result, so that a failure would occur before the capture is rendered again. */
const slow = { delay: 6000 };

const site = useSite();
const cleanUp = new AsyncDisposableStack();
let cutOff: Fleet;
let natsStopped: Fleet;
let unavailableBucket: Fleet;
let bucketLink: DelayProxy;
let bucket: FaultProxy;
beforeAll(async () => {
  const start = async (own: FleetOptions) =>
    cleanUp.use(await startFleet({ tools: inject('tools'), tempFolder: inject('tempFolder') }, own));
  const { bucket: name, endpoint } = cleanUp.use(await startTestBucket());
  bucket = cleanUp.use(await startFaultProxy(endpoint));
  const { hostname: host, port } = new URL(bucket.url);
  bucketLink = cleanUp.use(await startDelayProxy({ upstream: { host, port: Number(port) }, roundTripMs: 0 }));
  const env = { WEBCAPTURE_GCS_BUCKET: name, WEBCAPTURE_GCS_ENDPOINT: `http://127.0.0.1:${bucketLink.port}` };
  cutOff = await start({
    store: 'embedded',
    regions: 'us-east:1,eu-west:1',
    roundTripMs: { 'us-east': 0, 'eu-west': 0 },
  });
  natsStopped = await start({ store: 'embedded' });
  unavailableBucket = await start({ store: 'embedded', env });
}, bucketSetUpMs);
afterAll(() => cleanUp.disposeAsync());

const uuidOf = ({ body }: Answer) => body?.data?.uuid ?? '';

/**
 * Accepts background captures and causes a fault. Both slots of the region complete their captures during the fault; the others wait in the
 * queue. Returns the UUIDs of all captures.
 */
async function captureInto({ api }: Fleet, region: Region, fault: () => Promise<void>): Promise<string[]> {
  const pages = [site().visit('/held'), site().visit('/held')];
  const held = await Promise.all(pages.map(({ url }) => api.capture({ url, region, ...options, ...slow })));
  await Promise.all(pages.map((page) => page.reached('/asset/held')));
  const waiting = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      api.capture({
        html: `<h1>${index}</h1>${'<!-- large -->'.repeat(index % 2 === 0 ? 0 : 60_000)}`,
        region,
        ...options,
      }),
    ),
  );
  await fault();
  for (const page of pages) page.release();
  return [...held, ...waiting].map(uuidOf);
}

/** Checks that all captures completed, and that the usage is the sum of their costs. */
async function expectAllCompleted(fleet: Fleet, accepted: readonly string[]): Promise<void> {
  const records = await expectBalance(fleet);
  const ends = records.filter(({ uuid }) => accepted.includes(uuid));
  expect(ends.map(({ status, failure }) => failure?.message ?? status)).toEqual(accepted.map(() => 'completed'));
}

test.concurrent(
  `links to NATS and the embedded store, reset for ${shortCutMs / 1000} s or silent for ${longCutMs / 1000} s: all captures complete`,
  limits,
  async () => {
    const [short, long] = [cutOff.link('us-east'), cutOff.link('eu-west')];
    const accepted = await Promise.all([
      captureInto(cutOff, 'us-east', async () => short.cut()),
      captureInto(cutOff, 'eu-west', async () => long.pause()),
    ]);
    await sleep(shortCutMs);
    await short.mend();
    await sleep(longCutMs - shortCutMs);
    long.resume();
    await expectAllCompleted(cutOff, accepted.flat());
  },
);

test.concurrent(
  `NATS, with the embedded store, stopped for ${natsOutageMs / 1000} s: all captures complete`,
  limits,
  async () => {
    const accepted = await captureInto(natsStopped, 'us-east', () => natsStopped.nats.kill('SIGTERM'));
    await sleep(natsOutageMs);
    await natsStopped.nats.start();
    await expectAllCompleted(natsStopped, accepted);
  },
);

test.concurrent(
  `a bucket that returns 503 and then does not respond for ${bucketOutageMs / 1000} s: the status shows it, and all captures complete`,
  limits,
  async () => {
    const accepted = await captureInto(unavailableBucket, 'us-east', async () => bucket.always(() => true, busy));
    await sleep(bucketOutageMs / 2);
    bucketLink.cut();
    const status = (await (await fetch(`${unavailableBucket.url}/status`)).json()) as OverallStatus;
    expect(status.components?.find(({ name }) => name === 'storage')?.status).toBe('major_outage');
    await sleep(bucketOutageMs / 2);
    bucket.heal();
    await bucketLink.mend();
    await expectAllCompleted(unavailableBucket, accepted);
  },
);
