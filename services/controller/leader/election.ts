import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { WakeableTimer } from '../loops.ts';
import type { Lease, LeaseTimes } from './lease.ts';

/** One uninterrupted period as the leader. */
export interface Term {
  /** Aborts when the term ends. */
  readonly signal: AbortSignal;
  /** Whether the leader may act now. Check it before each act, because the signal can be late after a pause of the process. */
  holds(): boolean;
}

export interface ElectionOptions {
  /** Name of the leadership for the log: "the fleet". */
  readonly what: string;
  readonly lease: Pick<Lease, 'holds' | 'take' | 'renew' | 'release'>;
  /** False while the store cannot be reached. Default: always true. */
  readonly reachable?: () => boolean;
  /** False while this process must not lead; a leader then resigns. Default: always true. */
  readonly mayLead?: () => boolean;
  /** Calls `wake` when the leadership may have become free. Returns a function that ends this. */
  readonly onFree?: (wake: () => void) => () => void;
  readonly times: Pick<LeaseTimes, 'renewMs' | 'retryMs' | 'pollMs'>;
  readonly log: Logger;
  /** The leader's work. It must end soon after the term's signal; the next term waits for it. */
  readonly lead: (term: Term) => Promise<void>;
  /**
   * Called with true when the work of an ended term does not stop. Until it stops (called with false), this process
   * cannot lead again and should be replaced.
   */
  readonly onHang?: (what: string, isHung: boolean) => void;
  /** Time after which the work of an ended term counts as stuck. */
  readonly hangAfterMs?: number;
}

/** Leaderships whose work does not stop after the end of the term. This process cannot lead them again and should be replaced. */
export class StuckTerms {
  readonly #led = new Set<string>();

  readonly onHang: NonNullable<ElectionOptions['onHang']> = (what, isHung) => {
    if (isHung) this.#led.add(what);
    else this.#led.delete(what);
  };

  /** Message for the liveness probe; null without a problem. */
  get problem(): string | null {
    if (this.#led.size === 0) return null;
    return `the work of a term as leader of ${[...this.#led].join(' and ')} does not end`;
  }
}

const watchdogMs = 50;

/** Maximum time for which the end of a term waits for its work. The lease is not released then, and expires. */
const endTimeoutMs = 3000;

/** Default of `hangAfterMs`. It is longer than every time limit in the leader's work. */
const hangMs = 30_000;

/** Takes part in the election until `signal` aborts, then releases the leadership. Never throws. */
export async function runElection(options: ElectionOptions, signal: AbortSignal): Promise<void> {
  const { what, lease, reachable = () => true, mayLead = () => true, times, log } = options;
  const waiting = new WakeableTimer();
  const unsubscribe = options.onFree?.(() => waiting.wake());
  let term: RunningTerm | null = null;
  let renewed = true;
  while (!signal.aborted) {
    try {
      if (term !== null && !lease.holds()) {
        log.warn(`lost the leadership of ${what}`);
        await term.end();
        term = null;
      } else if (term !== null && !mayLead()) {
        log.info(`resigning as the leader of ${what}`);
        await term.end();
        term = null;
        if (lease.holds()) await lease.release();
      }
      if (!reachable()) renewed = false;
      else if (term !== null) {
        await lease.renew();
        renewed = true;
      } else if (mayLead() && (await lease.take())) {
        log.info(`became the leader of ${what}`);
        term = startTerm(options);
      }
    } catch (error) {
      if (term !== null && renewed) log.warn({ err: error }, `renewing the leadership of ${what} failed; retrying`);
      renewed = false;
    }
    await waiting.wait(term === null ? times.pollMs : renewed ? times.renewMs : times.retryMs, signal);
  }
  unsubscribe?.();
  await resign(term, options);
}

async function resign(term: RunningTerm | null, { what, lease, log }: ElectionOptions): Promise<void> {
  if (term === null) return;
  try {
    await withDeadline(term.end(), endTimeoutMs, 'ending the work of the leader');
    await lease.release();
    log.info(`released the leadership of ${what}`);
  } catch (error) {
    log.warn({ err: error }, `releasing the leadership of ${what} failed; it will expire`);
  }
}

interface RunningTerm {
  /** Resolves when the leader's work has stopped. */
  end(): Promise<void>;
}

/** Starts the leader's work, with a watchdog that aborts it when the lease runs out. */
function startTerm({ what, lease, lead, log, onHang, hangAfterMs = hangMs }: ElectionOptions): RunningTerm {
  const aborter = new AbortController();
  const { signal } = aborter;
  const abort = () => aborter.abort(new Error('the term is over'));
  const watchdog = setInterval(() => {
    if (!lease.holds()) abort();
  }, watchdogMs);
  const work = lead({ signal, holds: () => !signal.aborted && lease.holds() }).catch((error: unknown) => {
    log.error({ err: error }, `the work of the leader of ${what} failed`);
  });
  const end = async () => {
    clearInterval(watchdog);
    abort();
    let isHung = false;
    const timer = setTimeout(() => {
      isHung = true;
      log.error(`the work of a term as leader of ${what} does not end; this process can no longer lead`);
      onHang?.(what, true);
    }, hangAfterMs);
    await work;
    clearTimeout(timer);
    if (isHung) onHang?.(what, false);
  };
  return { end };
}
