import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** A service that starts and stops at once. */
const script = `
  import { runService } from '${new URL('../../../services/shared/runtime/run-service.ts', import.meta.url).href}';
  await runService({
    name: 'front',
    readConfig: () => ({ logLevel: 'info', pod: 'front-1', nats: { prefix: '' } }),
    start: async () => void process.kill(process.pid, 'SIGTERM'),
    drainMs: () => 1000,
  });
`;

test('a service logs a warning at the start for a mistyped variable, with the nearest name', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, WEBCAPTURE_SLOT: '4', WEBCAPTURE_SLOTS: '4' },
  });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: string; variable?: string; msg: string });
  expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { variable: 'WEBCAPTURE_SLOT', msg: 'WEBCAPTURE_SLOT is not known; did you mean WEBCAPTURE_SLOTS?' },
  ]);
});
