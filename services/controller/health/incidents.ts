import { historyDays } from '@webcapture/shared/api/status-history.ts';
import {
  addTime,
  type ComponentHistory,
  historyFormat,
  type StoredIncident,
} from '@webcapture/shared/statistics/component-history.ts';
import { severity, type StatusValue } from '@webcapture/shared/api/status.ts';
import { dateOf } from '@webcapture/shared/captures/times.ts';
import { replaceUnsafe } from '@webcapture/shared/api/untrusted-text.ts';

/** A period in which one controller saw a component in one state. Times are Unix milliseconds. */
export interface Span {
  readonly status: StatusValue;
  /** The message at the start of the span. */
  readonly message: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Longest gap between two readings for which the component still counts as observed. It is longer than a change of leader, and than the
 * interval of bucket probes.
 */
export const maxGapMs = 60_000;

/** A component that fails again within this time after its recovery has one incident, not two. */
const mergeMs = 90_000;

/** Maximum number of incidents of a component in a day; the last one stays open while the component keeps failing. */
export const maxIncidentsPerDay = 5;

/** Maximum number of stored incidents of a component. */
export const maxIncidents = 50;
const maxUpdates = 6;
const maxMessageBytes = 200;

/**
 * Time after which a bad state that existed at the first observation becomes an incident. Components are in such a state while everything
 * starts.
 */
const startMs = 2 * 60_000;

/** Times further in the future than this were written by a wrong clock. */
export const maxAheadMs = 10 * 60_000;

const dayMs = 86_400_000;

/**
 * Adds observed spans to a history (null: there is no history yet). Spans that the history already contains have no effect, so a write with
 * unknown outcome can be repeated. As JSON the result has at most 200 KB: 90 days of 90 bytes, and 50 incidents of up to 3.5 KB.
 */
export function addSpans(
  before: ComponentHistory | null,
  name: string,
  spans: readonly Span[],
): ComponentHistory | null {
  const last = spans.at(-1);
  if (last === undefined) return before;
  const known = before !== null && before.observedUntil - last.to > maxAheadMs ? turnBack(before, last.to) : before;
  let rest = spans.filter(({ to }) => to > (known?.observedUntil ?? Number.NEGATIVE_INFINITY));
  let history = known;
  for (;;) {
    const [span, ...others] = withoutStart(history, rest);
    if (span === undefined) break;
    history = addSpan(history ?? emptyHistory(name, span), span);
    rest = others;
  }
  return history === null || history === before ? history : withinBounds(history, last.to);
}

/**
 * Closes the open incident of a component that no longer exists, and drops old entries. Returns null when the history
 * is empty.
 */
export function retire(history: ComponentHistory, now: number): ComponentHistory | null {
  const kept = withinBounds(history, now);
  const [latest, ...older] = kept.incidents;
  const isOpen = latest !== undefined && latest.endedAt === null;
  const incidents = isOpen ? [{ ...latest, endedAt: kept.observedUntil }, ...older] : kept.incidents;
  const isSame = !isOpen && kept.days.length === history.days.length && incidents.length === history.incidents.length;
  if (isSame) return history;
  return kept.days.length === 0 && incidents.length === 0 ? null : { ...kept, incidents };
}

const emptyHistory = (name: string, { status, from }: Span): ComponentHistory => ({
  format: historyFormat,
  name,
  status,
  observedUntil: from,
  days: [],
  incidents: [],
});

/** Omits a short bad state at the start of an observation, because a service that is starting is not an outage. */
function withoutStart(history: ComponentHistory | null, spans: readonly Span[]): readonly Span[] {
  const [first] = spans;
  if (first === undefined) return spans;
  const isObserved = history !== null && first.from - history.observedUntil <= maxGapMs;
  if (isObserved || history?.incidents[0]?.endedAt === null) return spans;
  const end = spans.findIndex(({ status, from }, index) => {
    const isAfterGap = from - (spans[index - 1]?.to ?? from) > maxGapMs;
    return status === 'operational' || isAfterGap;
  });
  const start = end === -1 ? spans : spans.slice(0, end);
  return (start.at(-1)?.to ?? first.from) - first.from >= startMs ? spans : spans.slice(start.length);
}

function addSpan(history: ComponentHistory, span: Span): ComponentHistory {
  const from = Math.max(span.from, history.observedUntil, span.to - historyDays * dayMs);
  const isGap = from - history.observedUntil > maxGapMs;
  const before = isGap
    ? history.days
    : addTime(history.days, history.status, { from: history.observedUntil, to: from });
  return {
    ...history,
    status: span.status,
    observedUntil: span.to,
    days: addTime(before, span.status, { from, to: span.to }),
    incidents: nextIncidents(history.incidents, span, from),
  };
}

function nextIncidents(incidents: readonly StoredIncident[], span: Span, at: number): readonly StoredIncident[] {
  const [latest, ...older] = incidents;
  const isOpen = latest !== undefined && latest.endedAt === null;
  if (span.status === 'operational') return isOpen ? [{ ...latest, endedAt: at }, ...older] : incidents;
  if (isOpen) {
    const isSame = latest.updates.at(-1)?.status === span.status;
    return isSame ? incidents : [withUpdate(latest, span, at), ...older];
  }
  if (latest !== undefined && continuesIncident(incidents, at)) {
    const again = { ...latest, endedAt: null, interruptions: latest.interruptions + 1 };
    return [withUpdate(again, span, at), ...older];
  }
  const { status } = span;
  const message = clip(span.message);
  const updates = [{ at, status, message }];
  return [{ startedAt: at, endedAt: null, status, message, updates, interruptions: 0 }, ...incidents];
}

/** Returns whether a failure that begins now belongs to the last incident. */
function continuesIncident(incidents: readonly StoredIncident[], at: number): boolean {
  if (at - (incidents[0]?.endedAt ?? Number.NEGATIVE_INFINITY) <= mergeMs) return true;
  return incidents.filter(({ startedAt }) => dateOf(startedAt) === dateOf(at)).length >= maxIncidentsPerDay;
}

function withUpdate(incident: StoredIncident, span: Span, at: number): StoredIncident {
  const { status } = span;
  const message = clip(span.message);
  // The first updates are kept because they show how the incident began, and the last one because it shows the current state.
  const updates = [...incident.updates.slice(0, maxUpdates - 1), { at, status, message }];
  const isWorse = severity(status) > severity(incident.status);
  return { ...incident, updates, ...(isWorse ? { status, message } : {}) };
}

/** Returns the message as one line of at most 200 bytes without control or bidirectional characters. */
function clip(message: string): string {
  const text = replaceUnsafe(message.toWellFormed(), ' ').replaceAll(/\s+/g, ' ').trim();
  if (Buffer.byteLength(text) <= maxMessageBytes) return text;
  let clipped = '';
  let bytes = Buffer.byteLength('…');
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxMessageBytes) break;
    clipped += character;
  }
  return `${clipped.trimEnd()}…`;
}

function withinBounds(history: ComponentHistory, now: number): ComponentHistory {
  const first = dateOf(now - (historyDays - 1) * dayMs);
  return {
    ...history,
    days: history.days.filter(({ date }) => date >= first).slice(-historyDays),
    incidents: history.incidents
      .filter(({ endedAt }) => endedAt === null || dateOf(endedAt) >= first)
      .slice(0, maxIncidents),
  };
}

/** Removes times in the future. The clock that wrote them was ahead. */
function turnBack(history: ComponentHistory, now: number): ComponentHistory {
  const past = (at: number) => Math.min(at, now);
  return {
    ...history,
    observedUntil: now,
    days: history.days.filter(({ date }) => date <= dateOf(now)),
    incidents: history.incidents
      .filter(({ startedAt, endedAt }) => startedAt <= now || endedAt === null)
      .map(({ startedAt, endedAt, updates, ...rest }) => ({
        ...rest,
        startedAt: past(startedAt),
        endedAt: endedAt === null ? null : past(endedAt),
        updates: updates.map((update) => ({ ...update, at: past(update.at) })),
      })),
  };
}
