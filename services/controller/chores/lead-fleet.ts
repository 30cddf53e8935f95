import type { ControllerParts } from '../parts.ts';
import type { Term } from '../leader/election.ts';
import { reconcileChore } from '../reconcile/reconcile-chore.ts';
import { repeat } from '../repeat.ts';
import { doTasks } from '../tasks/do-tasks.ts';
import { ExpirySweep } from '../tasks/expiry-sweep.ts';
import { canaryRounds } from './canary-rounds.ts';
import { DeadRenderers, deadRenderersIntervalMs } from './dead-renderers.ts';
import { settleDeadLetters } from './dead-letters.ts';
import { auditIfDue } from './record-audit.ts';
import { removeRetiredDurables } from './retired-durables.ts';
import { regionSignalsIntervalMs, sendRegionSignals } from './region-signals.ts';
import { Sweep } from './sweep.ts';

/** How often it is looked whether an audit is due. */
const auditCheckMs = 60_000;

/** All that must be done once in the fleet, for one term. Resolves soon after the term's signal; never throws. */
export async function leadFleet(parts: ControllerParts, term: Term): Promise<void> {
  const { session, inbox, captures, jobs, settler, provisioner, regions, times, log, now } = parts;
  const { signal } = term;
  const sweep = new Sweep({ session, captures, jobs, settler, now });
  const expiries = new ExpirySweep(parts);
  const deadRenderers = new DeadRenderers({
    ...parts,
    isFleetKnown: () => parts.latest.get()?.facts.regions.some(({ fleetKnown }) => fleetKnown) === true,
  });
  signal.addEventListener('abort', () => deadRenderers.close(), { once: true });
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
    repeat({ what: 'the look for renderers that are gone', everyMs: deadRenderersIntervalMs, signal, log }, () =>
      deadRenderers.look(term),
    ),
    repeat({ what: 'signals to renderers', everyMs: regionSignalsIntervalMs, signal, log }, async () =>
      sendRegionSignals(parts),
    ),
    repeat({ what: 'the expiry of captures', everyMs: times.expiryMs, signal, log }, () => expiries.pass(term)),
    repeat({ what: 'the expansion of days of expiries', everyMs: times.expandDaysMs, signal, log }, () =>
      expiries.expandDays(term),
    ),
    repeat({ what: 'the audit of the records', everyMs: auditCheckMs, signal, log }, () =>
      auditIfDue(parts, times.recordAuditMs, term),
    ),
    doTasks(parts, term),
    reconcileChore(parts, parts.config.reconcileIntervalMs, term),
    settleDeadLetters({ session, inbox, captures, jobs, settler, fleet: parts.fleet, log }, term),
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
