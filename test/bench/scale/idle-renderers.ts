import { setTimeout as sleep } from 'node:timers/promises';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { JobSource } from '../../../services/renderer/worker/job-source.ts';
import { freePort } from '../../harness/free-port.ts';
import { startBenchNats } from '../front/parts.ts';
import type { Goals } from '../goals.ts';
import { startController } from './service.ts';

const renderers = 100;
const slots = 4;
/** Pull requests wait at the server for a minute and are then renewed: this measures a whole period. */
const measuredMs = 62_000;
const settlingMs = 10_000;
const goal = 0.2;

/** Measures the pull requests of renderers while there are no jobs. */
export async function benchIdleRenderers(goals: Goals): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const monitoring = await freePort();
  const { session } = await startBenchNats(parts, `http: "127.0.0.1:${monitoring}"\n`);
  const url = session.nc.getServer();
  // The leader regularly reports to renderers which queues have jobs.
  await startController(parts, url);
  const subscriptions = async () => {
    const response = await fetch(`http://127.0.0.1:${monitoring}/varz`);
    return ((await response.json()) as { subscriptions: number }).subscriptions;
  };
  const before = await subscriptions();
  const log = createLogger({ service: 'bench', pod: 'bench', level: 'warn' });
  for (let number = 0; number < renderers; number++) {
    const renderer = await connectNats({ url, name: `renderer-${number}`, log, signal: AbortSignal.timeout(30_000) });
    parts.defer(() => renderer.nc.close());
    const source = new JobSource(renderer, { region: 'us-east', free: () => slots, onJob: () => undefined, log });
    parts.defer(() => source.close());
  }
  await sleep(settlingMs);
  const each = ((await subscriptions()) - before) / renderers;
  let requests = 0;
  const counting = session.nc.subscribe('$JS.API.CONSUMER.MSG.NEXT.>', { callback: () => void requests++ });
  await session.nc.flush();
  await sleep(measuredMs);
  counting.unsubscribe();
  goals.title(`${renderers} idle renderers of ${slots} slots, over ${measuredMs / 1000} s`);
  goals.atMost('pull requests per second and renderer', requests / renderers / (measuredMs / 1000), goal);
  goals.note('subscriptions per renderer, including those of the NATS client', each.toFixed(1));
}
