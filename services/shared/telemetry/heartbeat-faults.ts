import { Counter, type Registry } from 'prom-client';
import type { HeartbeatFault } from '../state/fleet.ts';
import type { Logger } from './logger.ts';

const faults: readonly HeartbeatFault[] = ['malformed', 'too_many', 'conflict'];

/** A renderer that lies may do so thousands of times a second; the log tells of one of them in so long. */
const logEveryMs = 10_000;

/** What a fleet tells of heartbeats that cannot be right: counted, and now and then logged. */
export function createHeartbeatFaults(registry: Registry, log: Logger): (fault: HeartbeatFault, key: string) => void {
  const counter = new Counter({
    name: 'webcapture_heartbeat_faults_total',
    help: 'Heartbeats of renderers that cannot be right, by reason: malformed and too_many (more pods than a region may have) are ignored; conflict: two processes use the name of one pod.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of faults) counter.inc({ reason }, 0);
  let loggedAt = -Infinity;
  return (reason, key) => {
    counter.inc({ reason });
    if (performance.now() - loggedAt < logEveryMs) return;
    loggedAt = performance.now();
    log.warn({ reason, key: key.slice(0, 300) }, 'the heartbeat of a renderer cannot be right');
  };
}
