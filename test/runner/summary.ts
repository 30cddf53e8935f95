import { relative } from 'node:path';
import type { TestModule, Vitest } from 'vitest/node';
import { longTag, type Tier } from './tiers.ts';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Counts the tests of a run. A file that could not be loaded, an interrupted test, and an error outside of tests each count as one failed
 * test. Tests of another tier do not count.
 */
export function countTests(vitest: Vitest, tiers: readonly Tier[]): Counts {
  const counts = { passed: 0, failed: vitest.state.getUnhandledErrors().length, skipped: 0 };
  for (const module of vitest.state.getTestModules()) {
    const tests = [...module.children.allTests()];
    for (const test of tests) {
      const { state } = test.result();
      const tier = test.tags.includes(longTag) ? 'long' : 'fast';
      if (state === 'skipped' && !tiers.includes(tier)) continue;
      counts[state === 'pending' ? 'failed' : state]++;
    }
    const hasFailedTest = tests.some((test) => test.result().state === 'failed');
    if (module.state() === 'failed' && !hasFailedTest) counts.failed++;
  }
  return counts;
}

/** Returns the ten slowest files, one per line, with their seconds of set-up and tests. */
export function longestFiles(vitest: Vitest, root: string): string {
  const seconds = (module: TestModule) => {
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    return (duration + collectDuration + setupDuration) / 1000;
  };
  const longest = vitest.state
    .getTestModules()
    .map((module) => ({ path: relative(root, module.moduleId), seconds: seconds(module) }))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, 10);
  return longest.map((file) => `${file.seconds.toFixed(1).padStart(7)} s  ${file.path}`).join('\n');
}
