import { statusValues, type StatusValue } from '@webcapture/shared/contract/status.ts';

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
