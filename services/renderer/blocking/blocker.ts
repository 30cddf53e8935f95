import type { FiltersEngine } from '@ghostery/adblocker';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { ConsentKit } from './consent/consent-kit.ts';
import type { ListKind } from './filter-set.ts';

/** All that blocking needs and that captures share: read once, never changed. */
export interface Blocker {
  readonly engines: Readonly<Record<ListKind, FiltersEngine>>;
  readonly consent: ConsentKit;
  /** Where the filter lists came from, in words. */
  readonly sources: readonly string[];
  readonly log: Logger;
}
