import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { refusePages } from './page-source.ts';
import type { Logger } from './logger.ts';

/** Gauges of prom-client with counter names that only sum up the per-type gauges. */
const misnamed = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** The metrics of one process, the runtime's own among them. */
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

/** An answer in JSON. */
export interface OpsAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface OpsServerOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Registry;
  readonly log: Logger;
  /** Null when the process can do its work, else what it waits for. */
  readonly notReady: () => string | null;
  /** Null when the process is in order, else why it should be restarted. */
  readonly notLive?: () => string | null;
  /** Answers paths of this service's own; null for those that it does not know. */
  readonly more?: (path: string) => OpsAnswer | null;
}

/** The operators' port: `GET /metrics`, `/livez`, `/readyz`. It is never reachable for clients. */
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
  // Where an operator opens this machine to captures, a page is still not to read the metrics.
  refusePages(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
