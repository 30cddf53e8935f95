import { Histogram, type HistogramConfiguration, type OpenMetricsContentType, Registry } from 'prom-client';
import { activeSpanFields, type SpanFields } from './spans.ts';

type Config<Label extends string> = Omit<HistogramConfiguration<Label>, 'registers' | 'enableExemplars'>;

/** Observes a value. `span` is the span to which the value belongs; by default, it is the active span. */
type Observe<Label extends string> = (
  labels: Readonly<Record<Label, string>>,
  value: number,
  span?: SpanFields,
) => void;

/**
 * Creates a histogram and returns the function that observes its values. In a registry with {@link serveExemplars}, the exemplar of
 * each bucket is the last observed span that is recorded.
 */
export function createTracedHistogram<Label extends string>(registry: Registry, config: Config<Label>): Observe<Label> {
  const enableExemplars = (registry.contentType as string) === Registry.OPENMETRICS_CONTENT_TYPE;
  const histogram = new Histogram({ ...config, registers: [registry], enableExemplars });
  if (!enableExemplars) return (labels, value) => histogram.observe(labels, value);
  return (labels, value, span = activeSpanFields()) =>
    // The types of prom-client allow exemplars only the labels of the histogram.
    histogram.observe({ labels, value, exemplarLabels: span as object });
}

/** Lets a registry return OpenMetrics, the only text format with exemplars. */
export function serveExemplars(registry: Registry): void {
  (registry as Registry<never> as Registry<OpenMetricsContentType>).setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
}
