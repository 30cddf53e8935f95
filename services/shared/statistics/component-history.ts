import { type StatusValue, statusValues } from '../api/status.ts';
import { dateOf } from '../captures/times.ts';

const dayMs = 86_400_000;

/** Interval at which the leader writes the history of a component whose state does not change. */
export const historyIntervalMs = 5 * 60_000;

/** The stored history of a component, under `status.<component>` in `KV_db`. Times are Unix milliseconds. */
export interface ComponentHistory {
  /** Readers ignore histories with another format. */
  readonly format: typeof historyFormat;
  readonly name: string;
  /** The state at `observedUntil`. */
  readonly status: StatusValue;
  readonly observedUntil: number;
  /** The oldest day comes first. Days that were not observed may be missing. */
  readonly days: readonly ObservedDay[];
  /** Newest first. */
  readonly incidents: readonly StoredIncident[];
}

export const historyFormat = 1;

export interface ObservedDay {
  /** `yyyy-mm-dd`. */
  readonly date: string;
  /** Milliseconds in each state, in the order of `statusValues`. The rest of the day was not observed. */
  readonly ms: readonly number[];
}

/** A period in which a component was not operational. */
export interface StoredIncident {
  readonly startedAt: number;
  /** End of the incident; null while it lasts. */
  readonly endedAt: number | null;
  /** The worst state, and its message. */
  readonly status: StatusValue;
  readonly message: string;
  /** The states during the incident, oldest first. */
  readonly updates: readonly { readonly at: number; readonly status: StatusValue; readonly message: string }[];
  /** Number of times that the component recovered and failed again during the incident. */
  readonly interruptions: number;
}

const historyKeyPrefix = 'status';

/** Returns the key of a component's history in the bucket `db`. */
export const historyKey = (component: string) => `${historyKeyPrefix}.${component}`;

/** Matches the histories of all components. */
export const historyKeys = `${historyKeyPrefix}.>`;

/** Adds a period in one state to the days that it covers. */
export function addTime(
  days: readonly ObservedDay[],
  state: StatusValue,
  { from, to }: { readonly from: number; readonly to: number },
): readonly ObservedDay[] {
  const byDate = new Map(days.map(({ date, ms }) => [date, ms]));
  const index = statusValues.indexOf(state);
  for (let start = from; start < to;) {
    const end = Math.min(to, (Math.floor(start / dayMs) + 1) * dayMs);
    const date = dateOf(start);
    const before = byDate.get(date) ?? statusValues.map(() => 0);
    byDate.set(
      date,
      before.map((ms, each) => (each === index ? ms + end - start : ms)),
    );
    start = end;
  }
  return [...byDate].map(([date, ms]) => ({ date, ms })).toSorted((a, b) => a.date.localeCompare(b.date));
}

/** Maximum time that was observed but is not written yet. */
const maxUnwrittenMs = 2 * historyIntervalMs;

/**
 * Returns the history of a component that was observed without a change until a time. The last published status proves the observation: a
 * change is written immediately, and an unchanged state every few minutes.
 */
export function observedTo(history: ComponentHistory, until: number): ComponentHistory {
  const { observedUntil, days, status: state } = history;
  if (until <= observedUntil || until - observedUntil > maxUnwrittenMs) return history;
  return { ...history, observedUntil: until, days: addTime(days, state, { from: observedUntil, to: until }) };
}
