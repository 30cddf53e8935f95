// @module-tag long
import { expect, test } from 'vitest';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { percentilesOf } from '../../bench/http-load.ts';
import { memoryOf, startAttack } from '../../harness/attack.ts';
import { freePort } from '../../harness/free-port.ts';
import { startTestNats } from '../../harness/nats-session.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { until } from '../../harness/until.ts';

const key = 'the-key-of-a-paying-client';
/** Rendering time of a simple page. */
const renderMs = 150;
const captures = 10;

test('an attack by clients without a key hardly slows the captures of a client with one', async () => {
  await using parts = new AsyncDisposableStack();
  const nats = parts.use(await startTestNats(['us-east']));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const front = await ServiceProcess.prepare('front', 'front', {
    PATH: process.env['PATH'] ?? '',
    PORT: String(port),
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_NATS_URL: nats.url,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_API_KEY: key,
  });
  await front.start();
  parts.defer(() => front.stop());
  const renderer = new StandInRenderer(await nats.connect(), 'us-east');
  renderer.behavior = async (job, self) => {
    await delay(renderMs);
    await self.complete(job);
  };
  await renderer.start();
  parts.defer(() => renderer.stop());

  const captureTimes = async (count = captures) => {
    const times: number[] = [];
    for (let index = 0; index < count; index++) {
      const since = performance.now();
      const response = await fetch(`${url}/capture`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ url: 'https://example.com/' }),
      });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      times.push(performance.now() - since);
    }
    return percentilesOf(times);
  };
  await captureTimes(2);
  const quiet = await captureTimes();
  const attack = parts.use(await startAttack(url, 20));
  await until('the attack to begin', () => attack.answers()['401']);
  const attacked = await captureTimes();
  // The attack and other tests use part of the machine. A front that stalls is silent for ten seconds.
  expect(attacked.p50).toBeLessThan(2 * quiet.p50 + 500);
  expect(attacked.max).toBeLessThan(2 * quiet.max + 2000);
  expect((await memoryOf(front.pid)).most).toBeLessThan(400e6);
  expect(await front.metric('webcapture_front_shed_total')).toBeGreaterThan(0);
  await until('attackers to be told to wait', () => attack.answers()['429']);
});
