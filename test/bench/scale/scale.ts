import process from 'node:process';
import { measureExpiries } from './expiries.ts';
import { Goals } from '../goals.ts';
import { benchIdleRenderers } from './idle-renderers.ts';
import { benchInFlight } from './in-flight.ts';
import { benchManyPods } from './many-pods.ts';
import { benchStoredMessages } from './stored-messages.ts';
import { measureStoredCaptureMemory } from './stored-captures.ts';

const parts = {
  memory: benchMemory,
  messages: benchStoredMessages,
  idle: benchIdleRenderers,
  expiries: benchExpiries,
  pods: benchManyPods,
  'in-flight': benchInFlight,
} as const;

export const scaleParts: readonly string[] = Object.keys(parts);

/** Measures the costs of a large service against goals. `only` is one of {@link scaleParts}; without it, all are measured. */
export async function benchScale(only?: string): Promise<void> {
  const goals = new Goals();
  for (const [name, measure] of Object.entries(parts)) {
    if (only === undefined || name === only) await measure(goals);
  }
  goals.title(goals.missed === 0 ? 'All goals are met.' : `${goals.missed} goals are missed.`);
  if (goals.missed > 0) process.exitCode = 1;
}

async function benchMemory(goals: Goals): Promise<void> {
  const { captures, record, total, totalWithSchedule, goal } = await measureStoredCaptureMemory();
  goals.title(`NATS memory per capture, with ${captures} stored captures`);
  goals.note('the record alone', `${record} B`);
  goals.note('with a message schedule', `${totalWithSchedule} B`);
  goals.atMost('with its expiry entry', total, goal, ' B');
}

async function benchExpiries(goals: Goals): Promise<void> {
  const { perSecond, cpuMs, goal } = await measureExpiries();
  goals.title('Expiries with a bucket that takes 50 ms per removal');
  goals.note('the leader’s CPU per expiry', `${cpuMs.toFixed(2)} ms`);
  goals.atLeast('expiries per second', perSecond, goal);
}
