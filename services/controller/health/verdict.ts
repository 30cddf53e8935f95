import { statusValues, type StatusValue } from '@webcapture/shared/api/status.ts';

/** The state of a component, and the reason in words that an operator understands. */
export interface Verdict {
  readonly status: StatusValue;
  readonly message: string;
  readonly responseTimeMs?: number;
}

/** Greater is worse. */
export function badness(status: StatusValue): number {
  return statusValues.indexOf(status);
}

/** The reasons of all that is not in order, the worst first. */
export function reasonsOf(verdicts: readonly Verdict[]): string {
  return verdicts
    .filter(({ status }) => status !== 'operational')
    .toSorted((a, b) => badness(b.status) - badness(a.status))
    .map(({ message }) => message)
    .join('; ');
}

/** The worst of some states; operational when there are none. */
export function worstStatus(statuses: readonly StatusValue[]): StatusValue {
  return statuses.toSorted((a, b) => badness(b) - badness(a))[0] ?? 'operational';
}

/** `7 s`, `3 min`. */
export function duration(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** A worse state shows after two readings in a row, a better one after three. */
const readingsToWorse = 2;
const readingsToBetter = 3;

/** What a component shows, and its latest readings, oldest first. */
export interface Damped {
  readonly shown: Verdict;
  readonly readings: readonly Verdict[];
}

/**
 * Takes in one reading. The first shows at once. After that a component gets as bad as the mildest of its last two
 * readings, or as good as the worst of its last three: one reading that stands alone changes nothing, and one that
 * swings between two bad states still shows the milder.
 */
export function damp(before: Damped | null, reading: Verdict): Damped {
  if (before === null) return { shown: reading, readings: [reading] };
  const readings = [...before.readings, reading].slice(-readingsToBetter);
  return { shown: show(before.shown, readings, reading), readings };
}

function show(shown: Verdict, readings: readonly Verdict[], latest: Verdict): Verdict {
  const [mildest] = latestFirst(readings, readingsToWorse).toSorted((a, b) => badness(a.status) - badness(b.status));
  if (mildest !== undefined && badness(mildest.status) > badness(shown.status)) return mildest;
  const [worst] = latestFirst(readings, readingsToBetter).toSorted((a, b) => badness(b.status) - badness(a.status));
  if (worst !== undefined && badness(worst.status) < badness(shown.status)) return worst;
  // The state stays; its reason and times may be newer.
  return latest.status === shown.status ? latest : shown;
}

/** The last `count` readings, the latest first; none when there are fewer. */
function latestFirst(readings: readonly Verdict[], count: number): readonly Verdict[] {
  return readings.length < count ? [] : readings.slice(-count).toReversed();
}
