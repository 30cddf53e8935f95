import type { QueueFacts } from '../gather/facts.ts';
import type { Verdict } from './verdict.ts';

const slowMs = 1000;

/** The queue and the database behind it: nothing works without them. */
export function decideQueue(facts: QueueFacts): Verdict {
  if (facts.kind === 'unreachable') return { status: 'major_outage', message: whyUnreachable[facts.why] };
  const responseTimeMs = facts.roundTripMs;
  if (facts.missing.length > 0) {
    const more = facts.missing.length > 3 ? ` and ${facts.missing.length - 3} more` : '';
    return {
      status: 'major_outage',
      message: `missing: ${facts.missing.slice(0, 3).join(', ')}${more}`,
      responseTimeMs,
    };
  }
  if (facts.roundTripMs > slowMs) {
    return {
      status: 'degraded_performance',
      message: `slow: it took ${(facts.roundTripMs / 1000).toFixed(1)} s to answer`,
      responseTimeMs,
    };
  }
  return { status: 'operational', message: 'it answers', responseTimeMs };
}

const whyUnreachable = {
  'no connection': 'there is no connection to NATS',
  'no answer': 'NATS does not answer in time',
  'no JetStream': 'JetStream is not available on the NATS server',
} as const satisfies Record<(QueueFacts & { kind: 'unreachable' })['why'], string>;
