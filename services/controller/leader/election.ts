import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries, isTombstone } from '@webcapture/shared/nats/entries.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { leaderKey, type Lease, type LeaseTimes } from './lease.ts';

/** One unbroken time as the leader. */
export interface Term {
  /** Aborts when the term ends. */
  readonly signal: AbortSignal;
  /** Whether the leader may act right now: asked before each act, for the signal comes late after a pause. */
  holds(): boolean;
}

export interface ElectionOptions {
  readonly session: NatsSession;
  readonly lease: Lease;
  readonly times: LeaseTimes;
  readonly log: Logger;
  /** What the leader does; ends soon after the term's signal. The next term waits for it. */
  readonly lead: (term: Term) => Promise<void>;
}

const watchdogMs = 50;

/** After this long the work of a term that is over is given up; then the lease is left to expire by itself. */
const endLimitMs = 3000;

/** Stands for the leadership of the fleet until `signal` aborts, then gives it up. Never throws. */
export async function runElection(options: ElectionOptions, signal: AbortSignal): Promise<void> {
  const { session, lease, times, log } = options;
  const waiting = new WakeableWait(signal);
  const unsubscribe = onRelease(session, () => waiting.wake());
  let term: RunningTerm | null = null;
  let renewed = true;
  while (!signal.aborted) {
    try {
      if (term !== null && !lease.holds()) {
        log.warn('the leadership was lost');
        await term.end();
        term = null;
      }
      if (!session.connected()) renewed = false;
      else if (term !== null) {
        await lease.renew();
        renewed = true;
      } else if (await lease.take()) {
        log.info('leading the fleet');
        term = new RunningTerm(options);
      }
    } catch (error) {
      if (term !== null && renewed) log.warn({ err: error }, 'the leadership could not be renewed; trying on');
      renewed = false;
    }
    await waiting.forMs(term === null ? times.pollMs : renewed ? times.renewMs : times.retryMs);
  }
  unsubscribe();
  await resign(term, lease, log);
}

async function resign(term: RunningTerm | null, lease: Lease, log: Logger): Promise<void> {
  if (term === null) return;
  try {
    await withDeadline(term.end(), endLimitMs, 'ending the work of the leader');
    await lease.release();
    log.info('gave up the leadership');
  } catch (error) {
    log.warn({ err: error }, 'the leadership could not be given up; it expires by itself');
  }
}

/** The leader's work, with a watchdog that ends it when the lease has run out. */
class RunningTerm {
  readonly #aborter = new AbortController();
  readonly #watchdog: NodeJS.Timeout;
  readonly #work: Promise<void>;

  constructor({ lease, lead, log }: ElectionOptions) {
    const { signal } = this.#aborter;
    this.#watchdog = setInterval(() => {
      if (!lease.holds()) this.#aborter.abort(new Error('the term is over'));
    }, watchdogMs);
    this.#work = lead({ signal, holds: () => !signal.aborted && lease.holds() }).catch((error: unknown) => {
      log.error({ err: error }, 'the work of the leader broke');
    });
  }

  async end(): Promise<void> {
    clearInterval(this.#watchdog);
    this.#aborter.abort(new Error('the term is over'));
    await this.#work;
  }
}

/** A release is an ordinary message on the key's subject: whoever hears it need not wait for the next look. */
function onRelease(session: NatsSession, wake: () => void): () => void {
  const subscription = session.nc.subscribe(new Entries(session, 'live').subject(leaderKey), {
    callback: (error, message) => {
      if (error === null && isTombstone(message.headers)) wake();
    },
  });
  return () => subscription.unsubscribe();
}

/** A wait that ends early when woken or aborted. */
class WakeableWait {
  #end: () => void = () => undefined;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.wake(), { once: true });
  }

  wake(): void {
    this.#end();
  }

  async forMs(ms: number): Promise<void> {
    if (this.#signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
