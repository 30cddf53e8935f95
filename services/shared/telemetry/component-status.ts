import { Gauge, type Registry } from 'prom-client';
import { statusValues, type ComponentStatus } from '../contract/status.ts';

/**
 * The metric of a service's view of the components, a number for each. `read`: the components now; of those that it does
 * not name nothing is said.
 */
export function createComponentStatus(registry: Registry, read: () => readonly ComponentStatus[]): void {
  void new Gauge({
    name: 'webcapture_component_status',
    help: 'State of a component: 0 operational, 1 degraded, 2 partial outage, 3 major outage. Of a front, as its GET /status tells it; of a controller, what it sees itself: no api, and nothing of how old its word is.',
    labelNames: ['component'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, status } of read()) this.set({ component: name }, statusValues.indexOf(status));
    },
  });
}
