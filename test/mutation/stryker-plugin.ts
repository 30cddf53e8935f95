// A plugin of StrykerJS, which loads it into each of its processes.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import process from 'node:process';
import { strykerPlugins as vitestPlugins } from '@stryker-mutator/vitest-runner';
import { unitTestsByFile } from './groups.ts';
import { type Mutant, mutantKey } from './mutants.ts';
import { sampleVariable } from './sandbox.ts';

type IdentifiedMutant = Mutant & { readonly id: string };

/** Lets only the mutants of the sample through. `compileError` is the one reason that StrykerJS knows for leaving out a mutant. */
const sampleChecker = {
  init: () => undefined,

  check: (mutants: readonly IdentifiedMutant[]) => {
    const keys = new Set(JSON.parse(readFileSync(process.env[sampleVariable] ?? '', 'utf8')) as string[]);
    const check = (mutant: Mutant) =>
      keys.has(mutantKey(mutant)) ? { status: 'passed' } : { status: 'compileError', reason: 'not in the sample' };
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, check(mutant)]));
  },

  /** One group, so that the file is read once. */
  group: (mutants: readonly IdentifiedMutant[]) => [mutants.map(({ id }) => id)],
};

const progressIntervalMs = 60_000;
let tested = 0;
let survived = 0;
let printedAt = Date.now();

/** Prints how far the run is once a minute. */
const progressReporter = {
  onMutantTested: ({ status }: { readonly status: string }) => {
    if (status === 'CompileError') return;
    tested += 1;
    if (status === 'Survived') survived += 1;
    if (Date.now() - printedAt < progressIntervalMs) return;
    printedAt = Date.now();
    process.stdout.write(`${tested} mutants tested, ${survived} survived\n`);
  },
};

interface MutantRun {
  readonly sandboxFileName: string;
  readonly mutantActivation: 'static' | 'runtime';
  readonly testFilter?: readonly string[] | undefined;
}

interface TestRunner {
  mutantRun(run: MutantRun): Promise<unknown>;
}

interface Injector {
  injectFunction<T>(factory: (...args: never[]) => T): T;
}

/**
 * The runner of unit tests: that for vitest, with whole test files. StrykerJS knows which tests reach a mutant, but what the first test of
 * a file has begun, the others may use. A mutant of what a module does when it is imported is tried with the files that import the module,
 * in place of all.
 */
function createUnitRunner(injector: Injector): TestRunner {
  const [vitest] = vitestPlugins as unknown as [{ readonly factory: (...args: never[]) => TestRunner }];
  const runner = injector.injectFunction(vitest.factory);
  const testsByFile = unitTestsByFile();
  const runMutant = runner.mutantRun.bind(runner);
  runner.mutantRun = (run) => {
    const reaching = run.testFilter?.map((id) => id.split('#')[0] ?? '');
    const files = run.mutantActivation === 'static' ? testsByFile.get(relative('.', run.sandboxFileName)) : reaching;
    // The id of a test is its file and its name; without a name it is all tests of the file.
    return runMutant({ ...run, testFilter: files && [...new Set(files)].map((file) => `${file}#`) });
  };
  return runner;
}
createUnitRunner.inject = ['$injector'] as const;

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'unit', factory: createUnitRunner },
  { kind: 'Checker', name: 'sample', value: sampleChecker },
  { kind: 'Reporter', name: 'minutes', value: progressReporter },
];
