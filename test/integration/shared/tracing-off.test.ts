import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/**
 * Starts a service without work in another process, with every module that a front, a renderer and a controller import, and prints the
 * packages of OpenTelemetry that it loads.
 */
const script = `
  import { registerHooks } from 'node:module';
  const loaded = new Set();
  registerHooks({
    load(url, context, nextLoad) {
      const found = /@opentelemetry\\/([a-z-]+)/.exec(url);
      if (found) loaded.add(found[1]);
      return nextLoad(url, context);
    },
  });
  await import('./services/front/front.ts');
  await import('./services/renderer/worker/run-job.ts');
  await import('./services/controller/controller.ts');
  const { runService } = await import('@webcapture/shared/runtime/run-service.ts');
  await runService({
    name: 'front',
    readConfig: () => ({ logLevel: 'fatal', pod: 'p', nats: { prefix: '' } }),
    drainMs: () => 1000,
    start: async () => undefined,
  });
  console.log([...loaded].sort().join(' '));
`;

async function loadedWith(env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: new URL('../../../', import.meta.url),
    env: { PATH: process.env['PATH'], ...env },
  });
  return stdout.trim();
}

test('the services load no module of the SDK without an endpoint, and with one they do', { tags: 'long' }, async () => {
  expect(await loadedWith({})).toBe('api');
  const on = await loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  expect(on.split(' ')).toEqual(expect.arrayContaining(['exporter-trace-otlp-proto', 'sdk-trace']));
});
