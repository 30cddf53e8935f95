import type { StorageFacts } from '../gather/facts.ts';
import type { Verdict } from './verdict.ts';

const slowMs = 2000;

/**
 * The file store. A test file that could not be written or read back is an outage once it happens twice in a row;
 * whatever else is wrong leaves captures possible. Null before the first test.
 */
export function decideStorage(facts: StorageFacts | null): Verdict | null {
  if (facts === null) return null;
  if (facts.kind === 'works') {
    const responseTimeMs = facts.ms;
    return facts.ms <= slowMs
      ? { status: 'operational', message: 'files are written and read', responseTimeMs }
      : {
          status: 'degraded_performance',
          message: `slow: a test file took ${(facts.ms / 1000).toFixed(1)} s`,
          responseTimeMs,
        };
  }
  const problem = facts.late ? `${deeds[facts.step]} takes too long` : `${deeds[facts.step]} fails`;
  const harmless = facts.step === 'remove' || facts.failures < 2;
  return { status: harmless ? 'degraded_performance' : 'major_outage', message: problem };
}

const deeds = {
  write: 'writing a test file',
  read: 'reading a test file back',
  remove: 'removing a test file',
} as const;
