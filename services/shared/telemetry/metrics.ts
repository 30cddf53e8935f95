import { collectDefaultMetrics, Registry } from 'prom-client';

/** The metrics of one process, the runtime's own among them. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}
