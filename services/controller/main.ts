import { runService } from '@webcapture/shared/lifecycle/run-service.ts';
import { readControllerConfig } from './config.ts';
import { startController } from './controller.ts';

await runService({
  name: 'controller',
  readConfig: readControllerConfig,
  start: async (config, deps) => void (await startController(config, deps)),
  drainMs: () => 8000,
});
