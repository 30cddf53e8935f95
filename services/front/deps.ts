import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { Authenticator } from './accounts/authenticator.ts';
import type { ResponseCache } from './cache/response-cache.ts';
import type { Dispatcher } from './capture/dispatcher.ts';
import type { FrontMetrics } from './metrics.ts';
import type { StatusView } from './status/overlay.ts';

/** All that the routes work with. */
export interface FrontDeps {
  readonly config: {
    readonly publicUrl: string;
    readonly cdnUrl: string;
    readonly minRefreshSeconds: number;
    readonly trustProxy: boolean;
  };
  readonly log: Logger;
  readonly metrics: FrontMetrics;
  readonly authenticator: Authenticator;
  readonly captures: Pick<Captures, 'get' | 'fail'>;
  readonly dispatcher: Dispatcher;
  readonly responseCache: ResponseCache;
  readonly store: FileStore;
  readonly policy: Pick<EgressPolicy, 'checkLiteral'>;
  readonly status: { view(): StatusView };
}
