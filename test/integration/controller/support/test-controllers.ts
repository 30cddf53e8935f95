import { afterAll, beforeAll } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { type FleetConfig, fleetConfigKey } from '@webcapture/shared/queue/fleet-config.ts';
import type { ControllerTimes } from '../../../../services/controller/times.ts';
import { TestBroker } from './broker.ts';
import { TestController } from './test-controller.ts';

/** Gives the tests of a file one server, on which controllers start and stop. */
export function useControllers(times: Partial<ControllerTimes> = {}) {
  let broker: TestBroker;
  let session: NatsSession;
  let live: Entries;
  const running = new Set<TestController>();
  beforeAll(async () => {
    broker = await TestBroker.start();
    session = await broker.connect();
    live = new Entries(session, 'live');
  });
  afterAll(async () => {
    await Promise.all([...running].map((controller) => controller.stop()));
    await broker.stop();
  });
  return {
    session: () => session,
    live: () => live,
    start: async (pod: string, env: Record<string, string> = {}): Promise<TestController> => {
      const common = { WEBCAPTURE_NATS_URL: broker.url, WEBCAPTURE_REGIONS: 'us-east:0', WEBCAPTURE_POD: pod };
      const controller = await TestController.start({ ...common, ...env }, times);
      running.add(controller);
      return controller;
    },
    stop: async (controller: TestController): Promise<void> => {
      running.delete(controller);
      await controller.stop();
    },
    /** Returns the configuration of the fleet, or undefined if there is no record. */
    found: async () => (await live.get<FleetConfig>(fleetConfigKey))?.value,
  };
}

export const leads = async (controller: TestController): Promise<boolean> =>
  (await controller.metric('webcapture_controller_leader')) === 1;

export const isReady = async (controller: TestController): Promise<boolean> =>
  (await controller.probe('/readyz')) === 200;
