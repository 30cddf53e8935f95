import { collectDefaultMetrics, Registry } from 'prom-client';

/** Gauges of prom-client that are named as counters, and only add up what stands beside them by type. */
const misnamed = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** The metrics of one process, the runtime's own among them. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  return registry;
}
