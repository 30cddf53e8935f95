import { globSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type GroupName, groupNames } from './groups.ts';

export const usage = `usage: npm run test:mutation -- [FILE | FOLDER | GLOB]… [--group unit|page] [--since REF] [--max N] [--seed N]
                                [--concurrency N] [--as-floor] [--update-floor]
  --group         only the files that unit tests test, or only those of the page folder
  --since         only files that have changed since this git ref
  --max           a random sample of this many mutants
  --seed          the same mutants as a run that printed this seed
  --concurrency   mutants tested concurrently (default 2)
  --as-floor      the mutants that the floor of the group was measured with (needs --group)
  --update-floor  raises the floor in test/mutation/floor.json after a run of all mutants
`;

/** The mutants that a run tests. */
export interface Selection {
  readonly paths: readonly string[];
  readonly since?: string | undefined;
  readonly max?: number | undefined;
  readonly seed?: number | undefined;
}

export interface Options extends Selection {
  readonly groups: readonly GroupName[];
  readonly concurrency: number;
  readonly asFloor: boolean;
  readonly updateFloor: boolean;
}

/** @throws Error with the invalid argument */
export function readOptions(args: readonly string[], randomSeed: number): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      group: { type: 'string' },
      since: { type: 'string' },
      max: { type: 'string' },
      seed: { type: 'string' },
      concurrency: { type: 'string' },
      'as-floor': { type: 'boolean' },
      'update-floor': { type: 'boolean' },
    },
  });
  const group = groupNames.find((name) => name === values.group);
  if (values.group !== undefined && group === undefined) throw new Error(`there is no group ${values.group}`);
  const asFloor = values['as-floor'] === true;
  if (asFloor && group === undefined) throw new Error('--as-floor needs --group');
  const max = countOf('--max', values.max);
  return {
    paths: positionals,
    since: values.since,
    max,
    seed: max === undefined ? undefined : (countOf('--seed', values.seed) ?? randomSeed),
    groups: group === undefined ? groupNames : [group],
    concurrency: countOf('--concurrency', values.concurrency) ?? 2,
    asFloor,
    updateFloor: values['update-floor'] === true,
  };
}

function countOf(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value)) throw new Error(`${name} must be a whole number`);
  return Number(value);
}

/** Returns the selection as arguments of the command; undefined for all mutants. */
export function describeSelection({ paths, since, max, seed }: Selection): string | undefined {
  const parts = [
    ...paths,
    ...(since === undefined ? [] : [`--since ${since}`]),
    ...(max === undefined ? [] : [`--max ${max} --seed ${seed}`]),
  ];
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** Returns the files that the paths match. A file that is named directly is mutated even if the groups exclude it. */
export function chooseFiles(all: readonly string[], paths: readonly string[]): string[] {
  if (paths.length === 0) return [...all];
  const named = new Set(paths.flatMap((path) => globSync(path)));
  const folders = [...named].filter((path) => statSync(path).isDirectory());
  const isChosen = (file: string) => named.has(file) || folders.some((folder) => file.startsWith(`${folder}/`));
  const exact = paths.filter((path) => named.has(path) && path.endsWith('.ts'));
  return [...new Set([...all.filter(isChosen), ...exact])];
}
