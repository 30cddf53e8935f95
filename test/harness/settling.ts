import { Cache } from '@webcapture/shared/captures/cache.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { Sessions } from '@webcapture/shared/captures/sessions.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import type { FileStore, Upload } from '@webcapture/shared/files/file-store.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type CaptureJob, jobOf } from '@webcapture/shared/queue/job.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { JobOutcome, JobResult } from '@webcapture/shared/queue/results.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { ResultSettler } from '../../services/front/capture/settlement.ts';
import type { SettlementOutcome } from '../../services/front/capture/settlement-outcomes.ts';
import { plainReport } from './records.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Accounts, readDefaultLimits } from '@webcapture/shared/accounts/accounts.ts';
import { EnvReader } from '@webcapture/shared/runtime/env.ts';
import { ByteQuota } from '../../services/front/byte-quota.ts';
import { PictureComparisons } from '../../services/front/pictures/picture-comparisons.ts';
import { fake } from './fake.ts';

/** The result settler of a front, with its outcomes and log. */
export class SettlingParts {
  readonly session: NatsSession;
  readonly tickets: Tickets;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly store: FileStore;
  readonly cache: Cache;
  readonly settlements: ResultSettler;
  /** The outcome of each result. */
  readonly outcomes: SettlementOutcome[] = [];
  /** All charges. */
  tokens = 0;
  /** Log lines of level warning or higher. */
  readonly warnings: string[] = [];
  readonly log: Logger;

  /** By default, the embedded store. */
  constructor(session: NatsSession, store: FileStore = new EmbeddedStore(session)) {
    const warn = (_fields: object, message: string) => void this.warnings.push(message);
    const say = () => undefined;
    this.log = { debug: say, info: say, warn, error: warn } as unknown as Logger;
    this.session = session;
    this.tickets = new Tickets(session);
    this.captures = new Captures(session);
    this.jobs = new Jobs(session, this.tickets);
    this.store = store;
    this.cache = new Cache(session);
    this.settlements = new ResultSettler({
      captures: this.captures,
      store: this.store,
      cache: this.cache,
      tickets: this.tickets,
      byteQuota: new ByteQuota({
        accounts: new Accounts(session),
        usage: new AccountUsage(session),
        defaultLimits: readDefaultLimits(new EnvReader({})),
        share: fake({ limit: () => undefined }),
        now: session.now,
      }),
      sessions: new Sessions(session),
      comparisons: new PictureComparisons({
        store: this.store,
        now: session.now,
        log: this.log,
        count: () => undefined,
      }),
      onSettled: ({ outcome, tokens }) => {
        this.outcomes.push(outcome);
        this.tokens += tokens;
      },
      log: this.log,
    });
  }

  /** Settles a result as if it had just arrived from us-east. By default, no client of this front waits for it. */
  settle(result: JobResult, changes: Partial<Parameters<ResultSettler['settle']>[1]> = {}) {
    const now = this.session.now();
    return this.settlements.settle(result, {
      region: 'us-east',
      at: now,
      deadline: now + 20_000,
      isAwaited: false,
      ...changes,
    });
  }

  /** Returns a job as a renderer receives it. */
  async jobOf(record: CaptureRecord, revision = 0): Promise<CaptureJob> {
    const job = jobOf(record, revision);
    return { ...job, ticket: await this.tickets.sign(job.ticket) };
  }

  /** Returns the number of messages that the store holds for its object. */
  async partsOf({ file }: Pick<CaptureJob, 'file'>): Promise<number> {
    const object = file.object.replaceAll('.', '_');
    const filter = { subjects_filter: `files.part.*.${object}.>` };
    const { state } = await this.session.jsm.streams.info('FILES', filter);
    return Object.keys(state.subjects ?? {}).length;
  }
}

/** Returns a result of a job, as a renderer publishes it. */
export function resultOf({ ticket }: Pick<CaptureJob, 'ticket'>, outcome: JobOutcome): JobResult {
  return { ticket, pod: 'a-pod', delivery: 1, elapsedMs: 5, outcome };
}

export const completedBy = (upload: Upload) =>
  ({ kind: 'completed', upload, report: plainReport, ageMs: 1 }) as const satisfies JobOutcome;
