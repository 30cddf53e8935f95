// What `npm test` runs: gets the tools, runs every test, and says at the very end how many passed and failed.
import process from 'node:process';
import { parseCLI, startVitest, type Vitest } from 'vitest/node';
import { ensureTool } from '../deploy/tools/ensure-tool.ts';
import { ensureTestTools } from './harness/tools.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<Counts> {
  say('Looking for the tools that the tests run against: nats-server, Chromium, fonts …');
  try {
    await ensureTestTools(say);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
  const preparing = new AbortController();
  const isAll = filter.length === 0;
  if (isAll || filter.some((name) => name.includes('kube'))) {
    prepare(['control-plane', 'kube-controller-manager', 'operator-crds'], preparing.signal);
  }
  if (isAll) prepare(['php'], preparing.signal);
  const vitest = await startVitest('test', filter, { ...options, watch: false });
  preparing.abort();
  const counts = count(vitest);
  await vitest.close();
  return counts;
}

/**
 * Tools that may be built for minutes, or installed, one after the other: beside the tests that do not need them. Those that
 * do wait for them, and say why they are not there.
 */
function prepare(tools: readonly string[], signal: AbortSignal): void {
  const prepareAll = async () => {
    for (const tool of tools) {
      await ensureTool(tool, { log: say, signal }).catch((error: unknown) => {
        if (!signal.aborted) say(error instanceof Error ? error.message : String(error));
      });
      if (signal.aborted) return;
    }
  };
  void prepareAll();
}

/** A file that could not be read, and an error outside of every test, count as a failed test each. */
function count(vitest: Vitest): Counts {
  const counts = { passed: 0, failed: vitest.state.getUnhandledErrors().length, skipped: 0 };
  const modules = vitest.state.getTestModules();
  for (const module of modules) {
    const tests = [...module.children.allTests()];
    for (const test of tests) {
      const { state } = test.result();
      // What never ran to its end (its file broke off) has not passed.
      counts[state === 'pending' ? 'failed' : state]++;
    }
    const hasFailedTest = tests.some((test) => test.result().state === 'failed');
    if (module.state() === 'failed' && !hasFailedTest) counts.failed++;
  }
  if (counts.passed + counts.failed === 0) {
    say('No test was run: nothing matches the filter.');
    counts.failed = 1;
  }
  return counts;
}

const { passed, failed, skipped } = await main();
say(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
process.exit(failed === 0 ? 0 : 1);
