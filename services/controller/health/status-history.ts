import {
  type ComponentHistory,
  historyFormat,
  historyIntervalMs,
  historyKey,
  observedTo,
} from '@webcapture/shared/statistics/component-history.ts';
import { type ComponentStatus, statusKey, type StatusReport } from '@webcapture/shared/api/status.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { regions } from '@webcapture/shared/runtime/regions.ts';
import type { Term } from '../leader/election.ts';
import type { Lease } from '../leader/lease.ts';
import type { DecidedStatus } from './facts.ts';
import { addSpans, maxAheadMs, maxGapMs, retire, type Span } from './incidents.ts';

/** Minimum interval of writes. Changes of a component within this time are written together. */
const minWriteIntervalMs = 5000;

const timeoutMs = 2000;

/** Maximum number of spans that a controller remembers while another one writes the history. */
const maxSpans = 100;

/** Every component that can have a history, including regions that are no longer installed. */
const allComponents = ['queue', 'storage', 'engine', ...regions.map((region) => `engine.${region}`)];

interface Stored {
  readonly history: ComponentHistory | null;
  /** Null if the entry does not exist. */
  readonly revision: number | null;
  /** Whether a later version wrote the entry, before a rollback or during a rolling update. Such an entry is never overwritten. */
  readonly isForeign: boolean;
}

export interface StatusHistoryParts {
  readonly db: Entries;
  readonly live: Entries;
  readonly lease: Pick<Lease, 'confirm'>;
  /** The server's clock in Unix milliseconds. The local clock is not used, because successive terms run on different pods. */
  readonly now: () => number;
  readonly intervalMs?: number;
  readonly minIntervalMs?: number;
}

/**
 * Keeps the history of the components. Every controller remembers its observations, and the leader writes them, so a
 * new leader knows what happened while NATS was unavailable and no controller could lead. Each write names the previous
 * revision, so NATS refuses a late write of a former leader. The leader then reads the history again and adds what is missing.
 */
export class StatusHistory {
  readonly #parts: StatusHistoryParts;
  readonly #components = new Map<string, ComponentWriter>();
  /** The status at the start of this process. */
  #found: StatusReport | null = null;
  #retiredAt = Number.NEGATIVE_INFINITY;

  constructor(parts: StatusHistoryParts) {
    this.#parts = parts;
  }

  /**
   * Reads the status that the previous leader wrote. It shows until when that leader observed. Call this method before this process can
   * lead.
   */
  async readStatus(): Promise<void> {
    const entry = await withDeadline(this.#parts.live.get<StatusReport>(statusKey), timeoutMs, 'reading the status');
    this.#found = entry?.value ?? null;
  }

  /** Records a reading. Every controller calls it for each reading; it makes no request. */
  observe(report: DecidedStatus, readNow = this.#parts.now()): void {
    const now = this.#parts.now();
    // The state of a region was observed when its renderers could last be heard. The state of the engine was observed when its regions
    // were.
    const regionTimes = report.components.filter(({ name }) => name.startsWith('engine.')).map(timeOf);
    for (const component of report.components) {
      const readAt = component.name === 'engine' ? Math.max(...regionTimes, 0) : timeOf(component);
      // The age is used instead of the time, because the local clock may be wrong.
      this.#component(component.name).observe(component, now - Math.max(0, readNow - readAt));
    }
  }

  /** Forgets stored entries, because another leader may have written them. Call it at the start of a term. */
  begin(): void {
    for (const component of this.#components.values()) component.forget();
    this.#retiredAt = Number.NEGATIVE_INFINITY;
  }

  /** Writes the entries that are due. Only the leader calls it. Throws if NATS does not answer; the entries then stay due. */
  async write(term: Pick<Term, 'holds'>): Promise<void> {
    const writes = [...this.#components.values()].map((component) => component.write(term, this.#found));
    const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    const { intervalMs = historyIntervalMs } = this.#parts;
    if (performance.now() - this.#retiredAt < intervalMs || this.#components.size === 0) return;
    await this.#retireOthers(term);
    this.#retiredAt = performance.now();
  }

  #component(name: string): ComponentWriter {
    const known = this.#components.get(name) ?? new ComponentWriter(name, this.#parts);
    this.#components.set(name, known);
    return known;
  }

  /** Closes incidents of regions that are no longer installed, and later removes their history. */
  async #retireOthers(term: Pick<Term, 'holds'>): Promise<void> {
    const { db, now } = this.#parts;
    for (const name of allComponents.filter((each) => !this.#components.has(each))) {
      const stored = await read(db, name);
      if (stored.history === null || stored.revision === null || !term.holds()) continue;
      const next = retire(stored.history, now());
      if (next === stored.history) continue;
      const written: Promise<unknown> =
        next === null
          ? db.delete(historyKey(name), stored.revision)
          : db.update(historyKey(name), next, stored.revision);
      await withDeadline(written, timeoutMs, 'writing the history of the status');
    }
  }
}

const timeOf = ({ lastCheckedAt }: ComponentStatus) => Date.parse(lastCheckedAt);

async function read(db: Entries, name: string): Promise<Stored> {
  const getting = db.get<ComponentHistory>(historyKey(name));
  const entry = await withDeadline(getting, timeoutMs, 'reading the history of the status');
  if (entry === null) return { history: null, revision: null, isForeign: false };
  const { value, revision } = entry;
  const isForeign = value.format !== historyFormat;
  return { history: isForeign ? null : value, revision, isForeign };
}

/** The history of one component. */
class ComponentWriter {
  readonly #name: string;
  readonly #parts: StatusHistoryParts;
  /** Observed spans that may not be stored yet, oldest first. */
  #spans: readonly Span[] = [];
  /** The entry as this leader last read or wrote it; null if it must be read before the next write. */
  #stored: Stored | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, parts: StatusHistoryParts) {
    this.#name = name;
    this.#parts = parts;
  }

  observe({ status, message = '' }: ComponentStatus, at: number): void {
    // The clock was so far ahead that the stored times must be wrong.
    if ((this.#spans.at(-1)?.to ?? at) - at > maxAheadMs) this.#spans = [];
    const last = this.#spans.at(-1);
    if (last === undefined || at - last.to > maxGapMs) {
      this.#keep([...this.#spans, { status, message, from: at, to: at }]);
      return;
    }
    const from = Math.max(at, last.to);
    const grown = { ...last, to: from };
    const before = this.#spans.slice(0, -1);
    this.#keep(last.status === status ? [...before, grown] : [...before, grown, { status, message, from, to: from }]);
  }

  forget(): void {
    this.#stored = null;
    this.#writtenAt = Number.NEGATIVE_INFINITY;
  }

  async write(term: Pick<Term, 'holds'>, found: StatusReport | null): Promise<void> {
    const { db, lease, intervalMs = historyIntervalMs, minIntervalMs = minWriteIntervalMs } = this.#parts;
    const sinceMs = performance.now() - this.#writtenAt;
    const isNews = this.#stored?.history?.status !== this.#spans.at(-1)?.status;
    if (this.#stored !== null && sinceMs < (isNews ? minIntervalMs : intervalMs)) return;
    try {
      this.#stored ??= this.#witnessed(await read(db, this.#name), found);
      const { history, revision, isForeign } = this.#stored;
      const next = isForeign ? null : addSpans(history, this.#name, this.#spans);
      if (!term.holds()) return;
      this.#writtenAt = performance.now();
      if (next === null || next === history) return;
      const key = historyKey(this.#name);
      const written = revision === null ? db.create(key, next) : db.update(key, next, revision);
      this.#stored = {
        history: next,
        isForeign,
        revision: await withDeadline(written, timeoutMs, 'writing the history of the status'),
      };
      this.#drop(next.observedUntil);
    } catch (error) {
      // Another leader has written, or the answer to a write of this process was lost. The entry must be read before the next write.
      this.forget();
      if (!isWriteConflict(error)) throw error;
      await lease.confirm();
    }
  }

  /** Adds the period until which the previous leader observed, unless this process began to observe earlier. */
  #witnessed(stored: Stored, found: StatusReport | null): Stored {
    const { history } = stored;
    const component = found?.components.find(({ name }) => name === this.#name);
    if (history === null || component === undefined) return stored;
    const until = Math.min(timeOf(component), this.#spans[0]?.from ?? Number.POSITIVE_INFINITY);
    return { ...stored, history: observedTo(history, until) };
  }

  #keep(spans: readonly Span[]): void {
    this.#spans = spans.slice(-maxSpans);
  }

  /** Drops spans that are stored. The last span is kept, because it may become longer. */
  #drop(until: number): void {
    this.#spans = this.#spans.filter((span, index) => span.to > until || index === this.#spans.length - 1);
  }
}
