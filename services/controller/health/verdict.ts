import { severity, type StatusValue } from '@webcapture/shared/api/status.ts';

/** The state of a component, and the reason in the words of an operator. */
export interface Verdict {
  readonly status: StatusValue;
  readonly message: string;
  readonly responseTimeMs?: number;
}

/** Returns the reasons of all states that are not operational, the worst first. */
export function reasonsOf(verdicts: readonly Verdict[]): string {
  return verdicts
    .filter(({ status }) => status !== 'operational')
    .toSorted((a, b) => severity(b.status) - severity(a.status))
    .map(({ message }) => message)
    .join('; ');
}

/** Formats a duration: `7 s`, `3 min`. */
export function duration(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** A worse state is shown after two consecutive readings, a better one after three. */
const readingsToWorse = 2;
const readingsToBetter = 3;

/** The state that a component shows, and its latest readings with the oldest first. */
export interface Damped {
  readonly shown: Verdict;
  readonly readings: readonly Verdict[];
}

/**
 * Adds one reading. The first reading is shown immediately. Afterwards, the shown state becomes worse only if the last two readings are
 * worse; it then becomes the milder of the two. It becomes better only if the last three readings are better; it then becomes the worst of
 * the three. A single outlier therefore changes nothing, and a component that alternates between two bad states shows the milder one.
 */
export function damp(before: Damped | null, reading: Verdict): Damped {
  if (before === null) return { shown: reading, readings: [reading] };
  const readings = [...before.readings, reading].slice(-readingsToBetter);
  return { shown: show(before.shown, readings, reading), readings };
}

function show(shown: Verdict, readings: readonly Verdict[], latest: Verdict): Verdict {
  const [mildest] = latestFirst(readings, readingsToWorse).toSorted((a, b) => severity(a.status) - severity(b.status));
  if (mildest !== undefined && severity(mildest.status) > severity(shown.status)) return mildest;
  const [worst] = latestFirst(readings, readingsToBetter).toSorted((a, b) => severity(b.status) - severity(a.status));
  if (worst !== undefined && severity(worst.status) < severity(shown.status)) return worst;
  // The status stays the same; its reason and times may be newer.
  return latest.status === shown.status ? latest : shown;
}

/** Returns the last `count` readings with the latest first; an empty list if there are fewer. */
function latestFirst(readings: readonly Verdict[], count: number): readonly Verdict[] {
  return readings.length < count ? [] : readings.slice(-count).toReversed();
}
