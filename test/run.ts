// Runs the tests: gets the tools that they run against, runs vitest, and prints how many tests passed and failed.
//   npm test                         the fast tier
//   npm run test:all                 both tiers; with --tier=long only what npm test leaves out
//   npm run test:watch               the fast tier, again after each change
//   npm test -- <part of a path>     all tests of the files whose path contains the text
//   npm test -- --changed[=<ref>]    the tests that the changes since the last commit, or since <ref>, can break
// All other options are those of vitest.
import { relative, resolve } from 'node:path';
import process from 'node:process';
import { parseCLI, startVitest } from 'vitest/node';
import { ensureTool } from '../deploy/tools/ensure-tool.ts';
import { ensureTestTools } from './harness/tools.ts';
import { affectedTests, changedFiles } from './runner/changed.ts';
import { countTests, longestFiles, type Counts } from './runner/summary.ts';
import { longTag, testFiles, type Tier } from './runner/tiers.ts';

const root = resolve(import.meta.dirname, '..');
const say = (line: string) => process.stdout.write(`${line}\n`);

const start = performance.now();
const counts = await main();
if (counts !== undefined) {
  const { passed, failed, skipped } = counts;
  say(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
  process.exit(failed === 0 ? 0 : 1);
}

/** Returns the counts; undefined in watch mode, which ends by itself. */
async function main(): Promise<Counts | undefined> {
  const args = process.argv.slice(2);
  const own = (name: string) => args.includes(name);
  const isWatching = own('--watch');
  const vitestArgs = args.filter((arg) => !/^--(tier=.*|all|watch)$/.test(arg));
  const { filter, options } = parseCLI(['vitest', isWatching ? 'watch' : 'run', ...vitestArgs]);
  const { changed, ...rest } = options;
  // If the arguments name files, all tests of these files run, including the long ones.
  const isNamed = filter.length > 0;
  const tiers: readonly Tier[] = own('--tier=long') ? ['long'] : own('--all') || isNamed ? ['fast', 'long'] : ['fast'];

  const files = await testFiles(root);
  const projects = [options.project ?? []].flat();
  const inTiers = [...files]
    .filter(([path, of]) => isInProject(path, projects) && of.some((tier) => tiers.includes(tier)))
    .map(([path]) => path);
  let chosen = inTiers.filter((path) => !isNamed || filter.some((part) => resolve(root, path).includes(part)));
  if (changed !== undefined && changed !== false) {
    const paths = await changedFiles(root, typeof changed === 'string' ? changed : undefined);
    chosen = await affectedTests(root, chosen, paths);
    say(`${chosen.length} of ${inTiers.length} test files can be affected by ${paths.length} changed files.`);
    if (chosen.length === 0) return { passed: 0, failed: 0, skipped: 0 };
  }
  if (chosen.length === 0) {
    say('No test was run: no test file matches the filter.');
    return { passed: 0, failed: 1, skipped: 0 };
  }

  say('Looking for the tools that the tests run against: nats-server, Chromium, fonts …');
  try {
    await ensureTestTools(say);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const preparing = new AbortController();
  void prepare(slowTools(chosen), preparing.signal);
  const toolsReady = performance.now();

  const vitest = await startVitest('test', chosen, {
    ...rest,
    watch: isWatching,
    ...(tiers.length === 1 && { tagsFilter: [tiers[0] === 'long' ? longTag : `!${longTag}`] }),
  });
  if (isWatching) {
    vitest.onClose(() => preparing.abort());
    return undefined;
  }
  preparing.abort();
  const counts = countTests(vitest, tiers);
  say(`The ten longest files:\n${longestFiles(vitest, root)}`);
  await vitest.close();
  const seconds = (from: number) => ((performance.now() - from) / 1000).toFixed(0);
  say(`${seconds(start)} s in all, of which the tests took ${seconds(toolsReady)} s`);
  if (counts.passed + counts.failed === 0) {
    say('No test was run: no test matches the filter.');
    counts.failed = 1;
  }
  return counts;
}

/** Returns whether a test file is in one of the projects. A project has the name of the folder that contains its tests. */
function isInProject(path: string, projects: readonly string[]): boolean {
  const isIn = (project: string) =>
    project.startsWith('!') ? !path.startsWith(`test/${project.slice(1)}/`) : path.startsWith(`test/${project}/`);
  return projects.length === 0 || projects.some(isIn);
}

/** Returns the tools that these test files need and that take minutes to build or install. */
function slowTools(paths: readonly string[]): readonly string[] {
  const needs = (part: string) => paths.some((path) => relative(root, resolve(root, path)).startsWith(part));
  return [
    ...(needs('test/kube/') ? ['control-plane', 'kube-controller-manager', 'operator-crds'] : []),
    ...(needs('test/integration/front/link-examples') ? ['php'] : []),
    ...(needs('test/e2e/tracing') ? ['otelcol'] : []),
    ...(needs('test/integration/shared/s3-store') || needs('test/e2e/s3') ? ['versitygw'] : []),
  ];
}

/**
 * Installs tools one after another while the tests that do not need them run. A test that needs a tool waits for it. If the tool is still
 * missing then, the test fails with the reason.
 */
async function prepare(tools: readonly string[], signal: AbortSignal): Promise<void> {
  for (const tool of tools) {
    await ensureTool(tool, { log: say, signal }).catch((error: unknown) => {
      if (!signal.aborted) say(error instanceof Error ? error.message : String(error));
    });
    if (signal.aborted) return;
  }
}
