import type { CaptureEvent } from '@webcapture/shared/api/capture-event.ts';
import type { BatchRecord } from '@webcapture/shared/captures/batch-record.ts';
import { type BatchItem, batchSummary, isItemOpen } from '@webcapture/shared/captures/batch-state.ts';
import type { EventStream } from '../events/event-stream.ts';

/** Sends the changes of the captures of a batch as events. */
export class BatchProgress {
  readonly #batch: BatchRecord;
  readonly #stream: EventStream;
  readonly #now: () => number;
  /** Indexes of the requests by the uuid of their capture; a capture from the cache can answer several requests. */
  readonly #indexes: ReadonlyMap<string, readonly number[]>;
  /** Changes that arrived before {@link begin} was called. */
  #early: CaptureEvent[] = [];
  #items: BatchItem[] | undefined;

  constructor(batch: BatchRecord, { stream, now }: { readonly stream: EventStream; readonly now: () => number }) {
    this.#batch = batch;
    this.#stream = stream;
    this.#now = now;
    const grouped = Map.groupBy(batch.captures.entries(), ([, uuid]) => uuid);
    this.#indexes = new Map([...grouped].map(([uuid, entries]) => [uuid, entries.map(([index]) => index)]));
  }

  /** Sets the states of the captures, and then applies the changes that arrived while the states were being read. */
  begin(items: readonly BatchItem[]): void {
    this.#items = [...items];
    for (const event of this.#early) this.#apply(event);
    this.#early = [];
  }

  /** Sends the first event when the stream has started. */
  start(): void {
    this.#sendBatch();
    if (this.#hasEnded()) this.#stream.complete();
  }

  change(event: CaptureEvent): void {
    if (!this.#indexes.has(event.uuid)) return;
    if (this.#items === undefined) {
      this.#early.push(event);
      return;
    }
    const { uuid, status } = event;
    const changed = this.#apply(event);
    if (changed.length === 0) return;
    const { counts } = this.#state();
    for (const index of changed) this.#stream.send('capture', JSON.stringify({ index, uuid, status, counts }));
    if (!this.#hasEnded()) return;
    this.#sendBatch();
    this.#stream.complete();
  }

  /** Returns the indexes whose status has changed. */
  #apply({ uuid, status }: CaptureEvent): readonly number[] {
    const items = this.#items ?? [];
    const changed: number[] = [];
    for (const index of this.#indexes.get(uuid) ?? []) {
      const item = items[index];
      // Outdated changes can arrive after the states were read.
      if (item === undefined || item.status === status || (isItemOpen({ status }) && !isItemOpen(item))) continue;
      items[index] = { ...item, status };
      changed.push(index);
    }
    return changed;
  }

  #hasEnded(): boolean {
    return this.#items?.some(isItemOpen) === false;
  }

  #sendBatch(): void {
    this.#stream.send('batch', JSON.stringify(this.#state()));
  }

  /** Returns the part of the batch that depends on the states of its captures. */
  #state() {
    const { id, status, counts } = batchSummary(this.#batch, this.#items ?? [], this.#now());
    return { id, status, counts };
  }
}
