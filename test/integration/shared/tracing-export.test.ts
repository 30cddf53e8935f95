import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { startTraceReceiver } from '../../harness/trace-receiver.ts';

/** A service that records one span with a log line, and stops. */
const script = `
  import { runService } from '@webcapture/shared/runtime/run-service.ts';
  import { withSpan } from '@webcapture/shared/tracing/spans.ts';
  await runService({
    name: 'renderer',
    readConfig: () => ({ logLevel: 'info', pod: 'pod-1', region: 'us-east', nats: { prefix: '' } }),
    drainMs: () => 20_000,
    start: async (_config, { log }) => {
      await withSpan('work', { attributes: { flag: true, count: 3 } }, async () => log.info('inside'));
      log.info('outside');
      process.kill(process.pid, 'SIGTERM');
    },
  });
`;

type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

/** Runs the service and returns its log lines by their messages; rejects if its exit code is not 0. */
async function run(env: Readonly<Record<string, string>>): Promise<Readonly<Record<string, LogLine>>> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: new URL('../../../', import.meta.url),
    env: { PATH: process.env['PATH'], ...env },
  });
  const lines = stdout.trim().split('\n');
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as LogLine).map((line) => [line.msg, line]));
}

describe('a service that stops', () => {
  test('exports its last spans with the attributes of the process, and logs their ids', async () => {
    await using receiver = await startTraceReceiver();
    const logged = await run({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20token',
      OTEL_RESOURCE_ATTRIBUTES: 'service.namespace=web,service.instance.id=other',
    });
    const [span, ...others] = receiver.spans();
    expect(others).toEqual([]);
    expect(span).toMatchObject({ name: 'work', kind: 'internal', attributes: { flag: true, count: 3 } });
    expect(span?.resource).toMatchObject({
      'service.name': 'webcapture-renderer',
      'service.version': version,
      'service.namespace': 'web',
      // The variable has precedence over the name of the pod.
      'service.instance.id': 'other',
      'webcapture.region': 'us-east',
    });
    expect(receiver.headers()).toMatchObject([{ authorization: 'Bearer token' }]);
    expect(logged['inside']).toMatchObject({ trace_id: span?.traceId, span_id: span?.spanId });
    expect(logged['outside']).not.toHaveProperty('trace_id');
  });

  test('exports nothing of traces that its sampler drops', async () => {
    await using receiver = await startTraceReceiver();
    const logged = await run({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.endpoint}/v1/traces`,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    });
    expect(receiver.spans()).toEqual([]);
    expect(logged['inside']).not.toHaveProperty('trace_id');
  });

  test('stops cleanly within seconds if the collector is unavailable, and warns', { tags: 'long' }, async () => {
    const logged = await run({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SERVICE_NAME: 'x' });
    expect(logged['stopped']).toMatchObject({ code: 0 });
    expect(Object.keys(logged).join()).toMatch(/exporting spans failed|the last spans could not be exported/);
  });
});
