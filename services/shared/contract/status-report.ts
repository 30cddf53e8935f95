import type { ComponentStatus, StatusValue } from './status.ts';

/** What the controller's fleet leader writes under `status` in `KV_live`: the word that every front serves. */
export interface StatusReport {
  /** Queue, storage, engine and engine.<region>; the front adds `api`, which it knows best itself. */
  readonly components: readonly ComponentStatus[];
  /** Captures that wait, by region: what `auto` goes by when no slot is free. */
  readonly queued: Readonly<Record<string, number>>;
  readonly overall: StatusValue;
  /** Unix milliseconds. */
  readonly at: number;
}

/** How often it is written, and how old it may be before a front says that it no longer knows. */
export const statusIntervalMs = 5000;
export const statusStaleMs = 30_000;
