/**
 * Series in Prometheus, with their values minute by minute in the notation of promtool. Without a namespace, a series
 * belongs to the release.
 */
type Series = Readonly<Record<string, string>>;

/** A case in which an alert fires, and a similar one in which it does not. */
export interface AlertCase {
  readonly alert: string;
  readonly after?: string;
  /** Interval in which Prometheus evaluates the rules; for cases of days. Default: 1m. */
  readonly every?: string;
  readonly fires: Series;
  /** Labels of the alert, in addition to the common ones. */
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly quiet: Series;
}
