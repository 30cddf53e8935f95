import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { Wake } from '../loops.ts';
import type { Lease, LeaseTimes } from './lease.ts';

/** One unbroken time as the leader. */
export interface Term {
  /** Aborts when the term ends. */
  readonly signal: AbortSignal;
  /** Whether the leader may act right now: asked before each act, for the signal comes late after a pause. */
  holds(): boolean;
}

export interface ElectionOptions {
  /** What is led, for the log: "the fleet". */
  readonly what: string;
  readonly lease: Pick<Lease, 'holds' | 'take' | 'renew' | 'release'>;
  /** False while asking would be in vain; by default it never is. */
  readonly reachable?: () => boolean;
  /** False while this process must not lead: a leader resigns then. By default it always may. */
  readonly mayLead?: () => boolean;
  /** Calls `wake` when the leadership may have become free; returns the way to stop that. */
  readonly onFree?: (wake: () => void) => () => void;
  readonly times: Pick<LeaseTimes, 'renewMs' | 'retryMs' | 'pollMs'>;
  readonly log: Logger;
  /** What the leader does; ends soon after the term's signal. The next term waits for it. */
  readonly lead: (term: Term) => Promise<void>;
  /**
   * Called with true when the work of a term that is over does not end: until it does (then with false), this process cannot lead
   * again, and should be replaced.
   */
  readonly onHang?: (what: string, isHung: boolean) => void;
  /** How long the work of a term that is over may take to end. */
  readonly hangAfterMs?: number;
}

/** What this process led with work that does not end: it cannot lead that again, and should be replaced. */
export class HungTerms {
  readonly #led = new Set<string>();

  readonly onHang: NonNullable<ElectionOptions['onHang']> = (what, isHung) => {
    if (isHung) this.#led.add(what);
    else this.#led.delete(what);
  };

  /** For the liveness probe; null while there is none. */
  get problem(): string | null {
    if (this.#led.size === 0) return null;
    return `the work of a term as leader of ${[...this.#led].join(' and ')} does not end`;
  }
}

const watchdogMs = 50;

/** After this long the work of a term that is over is given up; then the lease is left to expire by itself. */
const endTimeoutMs = 3000;

/** What a leader does has time limits of its own, all of them shorter. */
const hangMs = 30_000;

/** Stands for a leadership until `signal` aborts, then gives it up. Never throws. */
export async function runElection(options: ElectionOptions, signal: AbortSignal): Promise<void> {
  const { what, lease, reachable = () => true, mayLead = () => true, times, log } = options;
  const waiting = new Wake();
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
    log.warn({ err: error }, `releasing the leadership of ${what} failed; it expires by itself`);
  }
}

interface RunningTerm {
  /** Resolves when the leader's work has ended. */
  end(): Promise<void>;
}

/** Begins the leader's work, with a watchdog that ends it when the lease has run out. */
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
      log.error(`the work of a term as leader of ${what} does not end; this process cannot lead any more`);
      onHang?.(what, true);
    }, hangAfterMs);
    await work;
    clearTimeout(timer);
    if (isHung) onHang?.(what, false);
  };
  return { end };
}
