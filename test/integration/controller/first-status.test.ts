import { onTestFinished, test } from 'vitest';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { StandInRenderer } from './support/stand-in-renderer.ts';
import { reportOf } from './support/status.ts';
import { TestController } from './support/test-controller.ts';

test('the first status follows the first heartbeat of a renderer, and does not wait for the interval of readings', async () => {
  const broker = await TestBroker.start();
  onTestFinished(() => broker.stop());
  const session = await broker.connect();
  const env = { WEBCAPTURE_NATS_URL: broker.url, WEBCAPTURE_REGIONS: 'us-east:1', WEBCAPTURE_CANARY_INTERVAL: '0' };
  const controller = await TestController.start(env, { tickMs: 600_000 });
  onTestFinished(() => controller.stop());
  await until('the controller to be ready', async () => (await controller.probe('/readyz')) === 200);

  const renderer = new StandInRenderer(session, 'us-east', 'us-east-1');
  onTestFinished(() => renderer.stop());
  await until('the status to be known', () => reportOf(session), { deadlineMs: 30_000 });
});
