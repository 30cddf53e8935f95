import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * Creates a counter with all its series at 0, so that a rate sees the first event. `labels` lists the values of each
 * label.
 */
export function counterOf<L extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labels = {} as Readonly<Record<L, readonly string[]>>,
): Counter<L> {
  const labelNames = Object.keys(labels) as L[];
  const counter = new Counter({ name, help, labelNames, registers: [registry] });
  let series: Partial<Record<L, string>>[] = [{}];
  for (const label of labelNames) {
    series = series.flatMap((known) => labels[label].map((value) => ({ ...known, [label]: value })));
  }
  for (const each of series) counter.inc(each, 0);
  return counter;
}

export function gaugeOf<L extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[] = [],
): Gauge<L> {
  return new Gauge<L>({ name, help, labelNames: [...labelNames], registers: [registry] });
}
