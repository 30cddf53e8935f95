import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { formatAddress } from './listen-address.ts';
import { refusePages } from './page-source.ts';
import type { Logger } from './logger.ts';

/** Gauges of prom-client whose names are those of counters. They only sum up other gauges. */
const misnamed = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** Creates the metrics of one process, including those of the runtime. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  return registry;
}

export interface OpsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** A JSON response. */
export interface OpsAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface OpsServerOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Registry;
  readonly log: Logger;
  /** Returns null if the process is ready; otherwise a text that says what it waits for. */
  readonly notReady: () => string | null;
  /** Returns null if the process is healthy; otherwise a text that says why it should be restarted. */
  readonly notLive?: () => string | null;
  /** Answers further paths of this service. Returns null for unknown paths. */
  readonly more?: (path: string) => OpsAnswer | null;
}

/** Starts the operations port: `GET /metrics`, `/livez`, `/readyz`. Clients must never reach it. */
export async function startOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    };
    const verdict = (problem: string | null) => answer(problem === null ? 200 : 503, `${problem ?? 'ok'}\n`);
    const path = request.url?.split('?')[0] ?? '';
    switch (path) {
      case '/livez':
        return verdict(options.notLive?.() ?? null);
      case '/readyz':
        return verdict(options.notReady());
      case '/metrics':
        options.metrics.metrics().then(
          (text) => answer(200, text, options.metrics.contentType),
          (error: unknown) => {
            options.log.error({ err: error }, 'metrics could not be collected');
            answer(500, 'metrics could not be collected; the log says why\n');
          },
        );
        return;
      default: {
        const more = options.more?.(path) ?? null;
        if (more === null) return answer(404, 'try /metrics, /livez or /readyz\n');
        return answer(more.status, `${JSON.stringify(more.body)}\n`, 'application/json; charset=utf-8');
      }
    }
  });
  // Pages must not read the metrics, even if the operator allows captures to access this machine.
  refusePages(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const bound = server.address() as AddressInfo;
  options.log.info({ address: formatAddress(bound) }, 'the operations port is open');
  return {
    port: bound.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
