import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '@webcapture/shared/runtime/env.ts';
import { configExitCode } from '@webcapture/shared/runtime/run-service.ts';
import { runningNats } from './nats.ts';
import { loginVariables } from './nats-users.ts';
import { readSettings } from './settings.ts';

/**
 * `npm run reconcile`: runs the controller's command on the NATS of a running `npm start`, or on the one in the
 * environment.
 */
try {
  const { natsUrl, dataDir } = readSettings(process.env, fileURLToPath(new URL('../..', import.meta.url)));
  const running = natsUrl === undefined ? await runningNats(join(dataDir, 'nats')) : undefined;
  const url = natsUrl ?? running?.url;
  const asksForHelp = process.argv.includes('--help');
  if (url === undefined && !asksForHelp) {
    fail(
      `webcapture does not run on ${dataDir}: start it (npm start), or set WEBCAPTURE_NATS_URL or WEBCAPTURE_DATA_DIR`,
      1,
    );
  } else {
    if (url !== undefined) process.env['WEBCAPTURE_NATS_URL'] = url;
    if (running?.operator) Object.assign(process.env, loginVariables(running.operator));
    await import('../../services/controller/reconcile/main.ts');
  }
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  fail(error.message, configExitCode);
}

function fail(message: string, code: number): void {
  process.stderr.write(`reconcile: ${message}\n`);
  process.exitCode = code;
}
