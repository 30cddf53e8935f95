// A plugin for StrykerJS, which loads it in each of its processes.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import process from 'node:process';
import { strykerPlugins as vitestPlugins } from '@stryker-mutator/vitest-runner';
import { unitTestsByFile } from './groups.ts';
import { type Mutant, mutantKey } from './mutants.ts';
import { sampleVariable } from './sandbox.ts';

type IdentifiedMutant = Mutant & { readonly id: string };

/** Skips mutants that are not in the sample. `compileError` is the only status with which StrykerJS skips a mutant. */
const sampleChecker = {
  init: () => undefined,

  check: (mutants: readonly IdentifiedMutant[]) => {
    const keys = new Set(JSON.parse(readFileSync(process.env[sampleVariable] ?? '', 'utf8')) as string[]);
    const check = (mutant: Mutant) =>
      keys.has(mutantKey(mutant)) ? { status: 'passed' } : { status: 'compileError', reason: 'not in the sample' };
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, check(mutant)]));
  },

  /** There is one group, so that the file is read only once. */
  group: (mutants: readonly IdentifiedMutant[]) => [mutants.map(({ id }) => id)],
};

const progressIntervalMs = 60_000;
let tested = 0;
let survived = 0;
let printedAt = Date.now();

/** Prints the progress once a minute. */
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
 * The vitest runner for unit tests, with whole test files: tests of a file may depend on the set-up by its first test, but StrykerJS
 * selects single tests. A mutant in code that runs at import is tested with the files that import the module, instead of all files.
 */
function createUnitRunner(injector: Injector): TestRunner {
  const [vitest] = vitestPlugins as unknown as [{ readonly factory: (...args: never[]) => TestRunner }];
  const runner = injector.injectFunction(vitest.factory);
  const testsByFile = unitTestsByFile();
  const runMutant = runner.mutantRun.bind(runner);
  runner.mutantRun = (run) => {
    const reaching = run.testFilter?.map((id) => id.split('#')[0] ?? '');
    const files = run.mutantActivation === 'static' ? testsByFile.get(relative('.', run.sandboxFileName)) : reaching;
    // The id of a test consists of its file and its name; without a name it selects all tests of the file.
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
