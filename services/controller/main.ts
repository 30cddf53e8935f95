import { runService } from '@webcapture/shared/runtime/run-service.ts';
import { drainMs, readControllerConfig } from './config.ts';
import { startController } from './controller.ts';
import { startSatellite } from './satellite.ts';

await runService({
  name: 'controller',
  readConfig: readControllerConfig,
  start: async (config, deps) =>
    void (await (config.role === 'satellite' ? startSatellite : startController)(config, deps)),
  drainMs: () => drainMs,
});
