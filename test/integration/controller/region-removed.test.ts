// @module-tag long
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Overview } from '@webcapture/shared/api/admin.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { readFrontConfig } from '../../../services/front/config.ts';
import { createFront } from '../../../services/front/front.ts';
import { retiredRegionsIntervalMs } from '../../../services/controller/recovery/retired-regions.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { TestController } from './support/test-controller.ts';

const key = 'a-preset-key-of-the-tests';
const adminToken = 'the-admin-token-of-the-tests';
const both = 'us-east:0,eu-west:0';
const message =
  'The region eu-west is no longer part of this installation. Send the request again with another region, or with auto.';

describe('when a region is removed while its captures wait', { timeout: 120_000 }, () => {
  let broker: TestBroker;
  let url: string;
  const stop = new AbortController();
  const running = new Set<TestController>();
  let controllers = 0;

  const start = async (regions: string) => {
    const env = { WEBCAPTURE_NATS_URL: broker.url, WEBCAPTURE_REGIONS: regions };
    const controller = await TestController.start({ ...env, WEBCAPTURE_POD: `controller-${++controllers}` });
    running.add(controller);
    await until('the controller to be ready', async () => (await controller.probe('/readyz')) === 200);
    return controller;
  };
  const end = async (controller: TestController) => {
    running.delete(controller);
    await controller.stop();
  };
  const call = (path: string, token = key, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } });
  const dataOf = async <T>(response: Response) => ((await response.json()) as { data: T }).data;
  const capture = (options: object) =>
    call('/capture', key, {
      method: 'POST',
      body: JSON.stringify({ url: 'https://example.com/', region: 'eu-west', ...options }),
    });
  /** A front refuses a region until it has seen the queues of the region. */
  const queue = () =>
    until('a capture to be queued', async () => {
      const response = await capture({ background: true });
      return response.ok && (await dataOf<{ uuid: string }>(response)).uuid;
    });
  const stateOf = async (uuid: string) => {
    const { status, error } = await dataOf<{ status: string; error?: { code: string; message: string } }>(
      await call(`/captures/${uuid}`),
    );
    return { status, ...error };
  };
  const jobs = async () => (await (await broker.connect()).jsm.streams.info(streamNames.captures)).state.messages;

  beforeAll(async () => {
    broker = await TestBroker.start();
    const first = await start(both);
    const session = await broker.connect();
    const app = await createFront({
      config: readFrontConfig({
        PORT: '0',
        WEBCAPTURE_HOST: '127.0.0.1',
        WEBCAPTURE_REGIONS: both,
        WEBCAPTURE_API_KEY: key,
        WEBCAPTURE_ADMIN_TOKEN: adminToken,
        WEBCAPTURE_CDN_URL: 'https://cdn.test',
      }),
      session,
      store: new EmbeddedStore(session),
      log: silentLog,
      metrics: new Registry(),
      signal: stop.signal,
      leaving: stop.signal,
    });
    stop.signal.addEventListener('abort', () => void app.close(), { once: true });
    url = await app.listen({ host: '127.0.0.1', port: 0 });
    await end(first);
  });
  afterEach(async () => {
    for (const controller of running) await end(controller);
  });
  afterAll(async () => {
    stop.abort();
    await broker.stop();
  });

  test('queued background and interactive captures fail, uncharged, while the old controllers still run', async () => {
    await start(both);
    const uuid = await queue();
    const waits = capture({});
    await until('both to wait', async () => (await jobs()) === 2);
    await start('us-east:0');
    const answer = await waits;
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: { code: 'REGION_UNAVAILABLE', message } });
    await until('the other one to fail', async () => (await stateOf(uuid)).status === 'failed');
    expect(await stateOf(uuid)).toMatchObject({ code: 'REGION_UNAVAILABLE', message });
    const usage = async () => dataOf<{ tokensUsed: number; inFlight: number }>(await call('/usage'));
    await until('the front to release it', async () => (await usage()).inFlight === 0);
    expect((await usage()).tokensUsed).toBe(0);
    expect(await jobs()).toBe(0);
  });

  test('the first leader after a time without controllers fails them', async () => {
    const first = await start(both);
    const uuid = await queue();
    await end(first);
    await start('us-east:0');
    await until('it to fail', async () => (await stateOf(uuid)).status === 'failed');
    expect((await stateOf(uuid)).message).toBe(message);
  });

  test('they are shown until they are settled, and rendered if the region is added again', async () => {
    const first = await start(both);
    const uuid = await queue();
    await end(first);
    // The heartbeats make the front accept captures, but the renderer takes none yet.
    const renderer = new StandInRenderer(await broker.connect(), 'eu-west');
    const beating = setInterval(() => void renderer.say(), 1000);
    await renderer.say();
    try {
      const without = await start('us-east:0');
      const gauge = () => without.metric('webcapture_queue_retired_captures{region="eu-west"}');
      await until('the metric', async () => (await gauge()) === 1);
      const retired = async () => (await dataOf<Overview>(await call('/admin/overview', adminToken))).retired;
      await until('the overview', async () => (await retired()).captures === 1);
      expect(await retired()).toEqual({ captures: 1, regions: [{ region: 'eu-west', captures: 1 }] });
      await delay(2 * retiredRegionsIntervalMs);
      expect((await stateOf(uuid)).status).toBe('queued');

      await start(both);
      await until('the overview without it', async () => (await retired()).captures === 0);
      await renderer.start();
      await until('it to be rendered', async () => (await stateOf(uuid)).status === 'completed');
    } finally {
      clearInterval(beating);
      await renderer.stop();
    }
  });
});
