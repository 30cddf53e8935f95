import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { CaptureList } from '@webcapture/shared/state/capture-list.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { FollowUps } from '@webcapture/shared/state/follow-ups.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { Admissions } from '@webcapture/shared/state/admissions.ts';
import type { AccountUsage } from '@webcapture/shared/state/account-usage.ts';
import type { Accounts } from '@webcapture/shared/state/accounts.ts';
import type { AccountLimits } from '@webcapture/shared/state/admission.ts';
import type { Keys } from '@webcapture/shared/state/keys.ts';
import type { Tasks } from '@webcapture/shared/state/tasks.ts';
import type { WebhookSecrets } from '@webcapture/shared/state/webhook-secrets.ts';
import type { Authenticator } from './accounts/authenticator.ts';
import type { KeyDesk } from './accounts/key-desk.ts';
import type { ResponseCache } from './cache/response-cache.ts';
import type { BackgroundQueue } from './capture/background-queue.ts';
import type { Dispatcher } from './capture/dispatcher.ts';
import type { RegionBoard } from './capture/region-board.ts';
import type { SignedLinks } from './http/signed-links.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import type { Gate } from './limits/gate.ts';
import type { FrontMetrics } from './metrics.ts';
import type { StatusView } from './status/overlay.ts';

/** All that the routes work with. */
export interface FrontDeps {
  readonly config: {
    readonly publicUrl: string;
    readonly cdnUrl: string;
    readonly minRefreshSeconds: number;
    readonly persistenceSeconds: number;
    readonly trustProxy: boolean;
    readonly queueTimeoutMs: number;
    readonly adminToken: string | undefined;
    readonly defaultLimits: AccountLimits;
  };
  readonly log: Logger;
  readonly metrics: FrontMetrics;
  readonly authenticator: Authenticator;
  readonly accounts: Pick<Accounts, 'get' | 'create' | 'change' | 'list'>;
  readonly keys: Pick<Keys, 'list' | 'hasAny'>;
  readonly keyDesk: KeyDesk;
  readonly webhookSecrets: Pick<WebhookSecrets, 'get' | 'rotate'>;
  readonly usage: Pick<AccountUsage, 'read'>;
  readonly admissions: Pick<Admissions, 'inFlight'>;
  readonly gate: Gate;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly captures: Pick<Captures, 'get' | 'fail' | 'change'>;
  readonly followUps: Pick<FollowUps, 'arrange'>;
  readonly tasks: Pick<Tasks, 'schedule'>;
  readonly captureList: Pick<CaptureList, 'list'>;
  readonly dispatcher: Dispatcher;
  readonly backgroundQueue: Pick<BackgroundQueue, 'enqueue' | 'enqueueRefresh'>;
  readonly regions: Pick<RegionBoard, 'choose' | 'estimatedWaitSeconds'>;
  /** Removes everything of a capture but its record. */
  readonly clearAway: (record: CaptureRecord) => Promise<void>;
  readonly responseCache: ResponseCache;
  readonly idempotency: Pick<Idempotency, 'answer'>;
  readonly store: FileStore;
  /** Where clients fetch files by signed links; null: through the front. */
  readonly links: Pick<SignedLinks, 'linkTo'> | null;
  readonly policy: Pick<EgressPolicy, 'checkLiteral'>;
  readonly status: { view(): StatusView };
  /** Once it is aborted, each answer closes its connection. */
  readonly leaving: AbortSignal;
}
