// `npm run test:mutation`: mutates the code, one mutation per test run, and lists the mutations that no test detects. See `usage` in
// options.ts.
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { compareWithFloor, type Floors, type Measured, raiseFloor } from './floor.ts';
import { type Batch, batchesOf, filesOf, type GroupName } from './groups.ts';
import { listMutants, type Mutant, mutantKey, sampleMutants } from './mutants.ts';
import { chooseFiles, describeSelection, type Options, readOptions, type Selection, usage } from './options.ts';
import { pageFolder } from './page-tests.ts';
import { countOf, describeFiles, describeMutant, describeTally, type Result, scoreOf, tallyOf } from './results.ts';
import { pageTestsVariable, sampleVariable } from './sandbox.ts';

const floorFile = 'test/mutation/floor.json';
const resultFolder = '.cache/mutation';
/** Timeout that suffices on a busy machine. StrykerJS detects endless loops earlier, because it counts how often a mutant is reached. */
const timeoutMs = 60_000;
/** The limit for the browser tests before the first mutant. */
const dryRunTimeoutMinutes = 60;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<boolean> {
  const options = readOptions(process.argv.slice(2), randomInt(2 ** 31));
  const floors = JSON.parse(await readFile(floorFile, 'utf8')) as Floors;
  const [group = 'unit'] = options.groups;
  const selection = options.asFloor
    ? readOptions((floors[group]?.sample ?? '').split(' ').filter(Boolean), 0)
    : options;
  const chosen = await chooseMutants(selection, options.groups);
  if (chosen.every(({ mutants }) => mutants.length === 0)) {
    say('There is nothing to mutate.');
    // A change without mutants passes like a change whose mutants are detected.
    return selection.since !== undefined;
  }
  const passed: boolean[] = [];
  for (const { name, mutants } of chosen) {
    if (mutants.length > 0) passed.push(await testGroup(name, mutants, { options, selection, floors }));
  }
  return passed.every(Boolean);
}

interface Chosen {
  readonly name: GroupName;
  readonly mutants: readonly Mutant[];
}

async function chooseMutants(selection: Selection, groups: readonly GroupName[]): Promise<Chosen[]> {
  const all = groups.flatMap(filesOf);
  const named = chooseFiles(all, selection.paths);
  const changed = selection.since === undefined ? named : await changedSince(selection.since);
  const mutants = await listMutants(named.filter((file) => changed.includes(file)));
  const { max, seed = 0 } = selection;
  const sampled = max === undefined ? mutants : sampleMutants(mutants, max, seed);
  say(`${sampled.length} of ${mutants.length} mutants${max === undefined ? '' : `, seed ${seed}`}`);
  const isPage = ({ fileName }: Mutant) => fileName.startsWith(`${pageFolder}/`);
  return groups.map((name) => ({ name, mutants: sampled.filter((mutant) => isPage(mutant) === (name === 'page')) }));
}

async function changedSince(ref: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('git', ['diff', '--merge-base', '--name-only', '--diff-filter=d', ref]);
  return stdout.split('\n');
}

interface Run {
  readonly options: Options;
  readonly selection: Selection;
  readonly floors: Floors;
}

/** Returns whether the score is at least the floor. */
async function testGroup(name: GroupName, mutants: readonly Mutant[], { options, selection, floors }: Run) {
  const files = [...new Set(mutants.map(({ fileName }) => fileName))];
  const results: Result[] = [];
  for (const batch of batchesOf(name, files)) {
    const own = mutants.filter(({ fileName }) => batch.files.includes(fileName));
    results.push(...(await testMutants(name, batch, own, { ...options, isSample: selection.max !== undefined })));
    await writeFile(`${resultFolder}/${name}.json`, JSON.stringify(results, undefined, 1));
  }
  await tellSurvivors(results);
  for (const line of describeFiles(results)) say(line);
  const tally = tallyOf(results);
  const measured = { score: scoreOf(tally), mutants: countOf(tally), sample: describeSelection(selection) };
  say(`${name}: ${measured.score.toFixed(1)} % of ${measured.mutants} mutants (${describeTally(tally)})`);
  return tellVerdict(name, measured, floors, options);
}

async function testMutants(
  name: GroupName,
  { files, tests = [] }: Batch,
  mutants: readonly Mutant[],
  { concurrency, isSample }: { readonly concurrency: number; readonly isSample: boolean },
): Promise<Result[]> {
  const keys = new Set(mutants.map(mutantKey));
  const sampleFile = resolve(resultFolder, `${name}-sample.json`);
  await mkdir(resultFolder, { recursive: true });
  await writeFile(sampleFile, JSON.stringify([...keys]));
  process.env[sampleVariable] = sampleFile;
  process.env[pageTestsVariable] = tests.join();
  const stryker = new Stryker({
    mutate: [...files],
    testRunner: name === 'unit' ? 'unit' : 'vitest',
    vitest: { configFile: `test/mutation/${name}.config.ts`, related: false },
    // Mutants in code that runs at import are tested with few tests; see `createUnitRunner`.
    warnings: { slow: false, unknownOptions: true, preprocessorErrors: true, unserializableOptions: true },
    ignorePatterns: ['/.cache'],
    // The reader of tsconfig.json needs the API of TypeScript before version 7, and no setting of the file is needed.
    tsconfigFile: 'none',
    // Types are not checked here. The comment that StrykerJS adds to every file would also fail the tests of generated files.
    disableTypeChecks: false,
    tempDirName: '.cache/stryker',
    plugins: ['@stryker-mutator/vitest-runner', resolve('test/mutation/stryker-plugin.ts')],
    checkers: isSample ? ['sample'] : [],
    reporters: ['minutes'],
    concurrency,
    timeoutMS: timeoutMs,
    dryRunTimeoutMinutes,
  });
  const results = await stryker.runMutationTest();
  const isChosen = ({ location: { start, end }, ...mutant }: Result) =>
    keys.has(mutantKey({ ...mutant, location: { start: fromZero(start), end: fromZero(end) } }));
  return results.filter(isChosen);
}

const fromZero = ({ line, column }: { readonly line: number; readonly column: number }) => ({
  line: line - 1,
  column: column - 1,
});

async function tellSurvivors(results: readonly Result[]): Promise<void> {
  const survivors = results.filter(({ status }) => status === 'Survived');
  if (survivors.length > 0) say('\nNo test detects:');
  for (const survivor of survivors) say(`  ${describeMutant(survivor, await readFile(survivor.fileName, 'utf8'))}`);
  say('');
}

async function tellVerdict(name: GroupName, measured: Measured, floors: Floors, { updateFloor }: Options) {
  const verdict = compareWithFloor(floors[name], measured);
  if (verdict.kind === 'below') {
    say(`✗ ${name}: below the floor of ${verdict.least.toFixed(1)} %: tests must detect some of the mutants above.`);
  }
  const raised = raiseFloor(floors[name], measured);
  if (raised === undefined) {
    if (updateFloor) say(`${name}: the floor is unchanged: only a higher score of all mutants raises it.`);
    return verdict.kind !== 'below';
  }
  if (updateFloor) {
    await writeFile(floorFile, `${JSON.stringify({ ...floors, [name]: raised }, undefined, 2)}\n`);
    say(`${name}: the floor is ${raised.score} % now.`);
  } else {
    say(`${name}: the floor can be ${raised.score} %: pass --update-floor.`);
  }
  return true;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  say(usage);
  process.exitCode = 1;
}
