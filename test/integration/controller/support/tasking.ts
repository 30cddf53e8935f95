import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { TaskKind } from '@webcapture/shared/nats/streams.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { FollowUps, removeCaptureFiles } from '@webcapture/shared/queue/follow-ups.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import type { RefreshDeps } from '../../../../services/controller/jobs/refresh.ts';
import { fake } from '../../../harness/fake.ts';
import { queuedJobs, taskDueAt } from '../../../harness/queues.ts';
import { newFile, newOutcome, newRecord } from '../../../harness/records.ts';
import { completeCapture, type Settling } from './settling.ts';
import { chargesOf, wideBytes } from '../../../harness/limits.ts';

const plentiful = { tokenQuota: 1000, ratePerMinute: 60, burst: 10, maxInFlight: 10, maxQueued: 100, ...wideBytes };

/** The dependencies of the leader's tasks on a real server, and functions that inspect their effects. */
export function tasking({ session, failCapture }: Pick<Settling, 'session' | 'failCapture'>) {
  const captures = new Captures(session);
  const store = new EmbeddedStore(session);
  const cache = new Cache(session);
  const usage = new AccountUsage(session);
  const tasks = new Tasks(session);
  const expiryIndex = new ExpiryIndex(session);
  const jobs = new Jobs(session, new Tickets(session));
  const deps = {
    captures,
    jobs,
    tasks,
    expiryIndex,
    failCapture,
    followUps: new FollowUps(tasks, expiryIndex),
    accounts: new Accounts(session),
    limiter: new Limiter(session, usage),
    fleet: fake({ load: () => ({ renderers: 0, slots: 0, busy: 0, renderMs: null }) }),
    regions: ['us-east', 'eu-west'],
    defaultLimits: plentiful,
    allowIgnoreTlsErrors: true,
    removeCaptureFiles: (record: CaptureRecord) =>
      removeCaptureFiles(record, { store, cache, removeHtml: (name) => removeHtml(session, name) }),
  } as const satisfies RefreshDeps & Record<string, unknown>;
  return {
    deps,
    store,
    cache,
    dueAt: (kind: TaskKind, record: CaptureRecord, revision = 0) => taskDueAt(session, kind, record, revision),
    queue: () => queuedJobs(session),
    usage: async (account: string) => chargesOf(await usage.read(account, Date.now(), 'exact')),
    stored: async ({ account, uuid }: CaptureRecord) => (await captures.get(account, uuid))?.value,
    /** Returns a completed background capture that has its file. */
    completed: async (changes: Partial<CaptureRecord> = {}): Promise<CaptureRecord> => {
      const record = newRecord({ priority: 'background', tokenCost: 2, ...changes, status: 'queued' });
      await captures.create(record);
      const { fileName: name, account, region, expiresAt } = record;
      await store.create(newFile(64, { name, account, region, expiresAt: Math.max(expiresAt, Date.now() + 60_000) }));
      return (await completeCapture(captures, record, newOutcome(), expiresAt)) ?? record;
    },
  };
}
