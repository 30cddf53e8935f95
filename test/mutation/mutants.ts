import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';

interface Position {
  readonly line: number;
  readonly column: number;
}

/** One mutation of a file, as StrykerJS describes it; lines and columns start at 0. */
export interface Mutant {
  readonly fileName: string;
  readonly location: { readonly start: Position; readonly end: Position };
  readonly mutatorName: string;
  readonly replacement: string;
}

interface Instrumenter {
  instrument(
    files: readonly { readonly name: string; readonly mutate: true; readonly content: string }[],
    options: { readonly ignorers: []; readonly excludedMutations: []; readonly plugins: null },
  ): Promise<{ readonly mutants: readonly Mutant[] }>;
}

/** Returns a text that identifies a mutant in one state of the sources. */
export function mutantKey({ fileName, location: { start, end }, mutatorName, replacement }: Mutant): string {
  const place = `${start.line}:${start.column}-${end.line}:${end.column}`;
  return `${relative('.', fileName)}:${place} ${mutatorName} ${replacement}`;
}

/** Lists all mutants of the files. */
export async function listMutants(files: readonly string[]): Promise<Mutant[]> {
  const instrumenter = await loadInstrumenter();
  const mutants: Mutant[] = [];
  for (const name of files) {
    const file = { name, mutate: true, content: await readFile(name, 'utf8') } as const;
    const made = await instrumenter.instrument([file], { ignorers: [], excludedMutations: [], plugins: null });
    mutants.push(...made.mutants);
  }
  return mutants;
}

/** Loads the instrumenter of the installed StrykerJS, which does not export it. */
async function loadInstrumenter(): Promise<Instrumenter> {
  const core = createRequire(import.meta.resolve('@stryker-mutator/core'));
  const path = core.resolve('@stryker-mutator/instrumenter');
  const { Instrumenter: Loaded } = (await import(pathToFileURL(path).href)) as {
    Instrumenter: new (logger: object) => Instrumenter;
  };
  const ignore = () => undefined;
  return new Loaded({ debug: ignore, info: ignore, warn: ignore, isDebugEnabled: () => false });
}

/** Selects `max` random mutants. For a seed, they are the same ones unless their code changes. */
export function sampleMutants<M extends Mutant>(mutants: readonly M[], max: number, seed: number): M[] {
  const seen = new Map<string, number>();
  const rankOf = ({ fileName, mutatorName, replacement }: M) => {
    // The line is omitted, because it changes with the code above it.
    const text = `${relative('.', fileName)} ${mutatorName} ${replacement}`;
    const index = seen.get(text) ?? 0;
    seen.set(text, index + 1);
    return createHash('sha256').update(`${seed} ${index} ${text}`).digest('hex');
  };
  const ranked = mutants.map((mutant) => ({ mutant, rank: rankOf(mutant) }));
  return ranked
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, max)
    .map(({ mutant }) => mutant);
}
