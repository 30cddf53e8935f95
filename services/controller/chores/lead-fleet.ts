import type { ControllerParts } from '../parts.ts';
import type { Term } from '../leader/election.ts';
import { reconcileChore } from '../reconcile/reconcile-chore.ts';
import { repeat } from '../repeat.ts';
import { doTasks } from '../tasks/do-tasks.ts';
import { canaryRounds } from './canary-rounds.ts';
import { settleDeadLetters } from './dead-letters.ts';
import { removeOldCanaries } from './old-canaries.ts';
import { removeRetiredDurables } from './retired-durables.ts';
import { Sweep } from './sweep.ts';

const oldCanariesMs = 3_600_000;

/** All that must be done once in the fleet, for one term. Resolves soon after the term's signal; never throws. */
export async function leadFleet(parts: ControllerParts, term: Term): Promise<void> {
  const { session, captures, jobs, settler, provisioner, regions, times, log } = parts;
  const { signal } = term;
  const sweep = new Sweep({ session, captures, jobs, settler });
  const provisionAll = async () => {
    await provisioner.run();
    if (term.holds()) await removeRetiredDurables(session, regions, log);
  };
  await Promise.all([
    repeat(
      { what: 'applying the configuration of the streams', everyMs: times.provisionMs, signal, log },
      provisionAll,
    ),
    repeat({ what: 'the sweep of overdue captures', everyMs: times.sweepMs, signal, log }, () => sweep.pass(term)),
    repeat({ what: 'the sweep of old canaries', everyMs: oldCanariesMs, signal, log }, () =>
      removeOldCanaries(session, captures),
    ),
    doTasks(parts, term),
    reconcileChore(parts, parts.config.reconcileIntervalMs, term),
    settleDeadLetters({ session, jobs, settler, log }, term),
    canaryRounds(
      {
        ...parts,
        intervalMs: parts.config.canaryIntervalMs,
        retryMs: times.canaryRetryMs,
        deadlineMs: times.canaryDeadlineMs,
      },
      term,
    ),
  ]);
}
