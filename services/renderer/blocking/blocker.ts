import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FiltersEngine } from '@ghostery/adblocker';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { loadConsentKit, type ConsentKit } from './consent.ts';
import { compileEngine, engineVersion, readEngine } from './filter-engine.ts';
import {
  engineFileName,
  listKinds,
  manifestFileName,
  readBuiltInList,
  type FilterManifest,
  type ListKind,
} from './filter-set.ts';

/** Immutable data of blocking that all captures share. */
export interface Blocker {
  readonly engines: Readonly<Record<ListKind, FiltersEngine>>;
  readonly consent: ConsentKit;
  /** Descriptions of the sources of the filter lists. */
  readonly sources: readonly string[];
  readonly log: Logger;
}

/** Thrown if this renderer cannot use the compiled lists. The message says which command to run. */
export class FilterSetError extends Error {
  constructor(message: string, path: string, options?: { cause?: unknown }) {
    super(`${message} Compile them again: node deploy/filters/cli.ts ${path}`, options);
    this.name = 'FilterSetError';
  }
}

/**
 * Loads the filter lists that were compiled into the folder `path`, in tens of milliseconds. If the folder does not exist, loads the
 * project's short list and logs a warning. Throws {@link FilterSetError} if the folder was compiled for another version of the engine or is
 * damaged.
 */
export async function loadBlocker(options: { path?: string | undefined; log: Logger }): Promise<Blocker> {
  const { path, log } = options;
  const start = performance.now();
  const [consent, compiled] = await Promise.all([loadConsentKit(), path === undefined ? null : readFilterSet(path)]);
  const { engines, sources, rules } = compiled ?? (await compileBuiltInSet());
  if (compiled === null) {
    log.warn(
      { path, rules },
      'there are no compiled filter lists: blocking uses the short built-in list (compile them with: node deploy/filters/cli.ts <folder>)',
    );
  } else {
    log.info({ sources, rules, ms: Math.round(performance.now() - start) }, 'filter lists loaded');
  }
  return { engines, consent, sources, log };
}

interface FilterSet {
  readonly engines: Record<ListKind, FiltersEngine>;
  readonly sources: readonly string[];
  readonly rules: number;
}

/** Returns null if the folder contains no compiled lists. */
async function readFilterSet(path: string): Promise<FilterSet | null> {
  let text: string;
  try {
    text = await readFile(join(path, manifestFileName), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new FilterSetError(`The filter lists in ${path} cannot be read.`, path, { cause: error });
  }
  try {
    const manifest = JSON.parse(text) as FilterManifest;
    if (manifest.engineVersion !== engineVersion) {
      throw new FilterSetError(
        `The filter lists in ${path} were compiled for version ${manifest.engineVersion} of the engine; this renderer has version ${engineVersion}.`,
        path,
      );
    }
    const engines = await engineOfEachKind(async (kind) =>
      readEngine(await readFile(join(path, engineFileName(kind)))),
    );
    return { engines, sources: manifest.sources, rules: manifest.rules };
  } catch (error) {
    if (error instanceof FilterSetError) throw error;
    throw new FilterSetError(`The filter lists in ${path} are damaged.`, path, { cause: error });
  }
}

async function compileBuiltInSet(): Promise<FilterSet> {
  let rules = 0;
  const engines = await engineOfEachKind(async (kind) => {
    const compiled = compileEngine(await readBuiltInList(kind));
    rules += compiled.rules;
    return compiled.engine;
  });
  return { engines, sources: ['built-in list'], rules };
}

async function engineOfEachKind(make: (kind: ListKind) => Promise<FiltersEngine>) {
  const entries = await Promise.all(listKinds.map(async (kind) => [kind, await make(kind)] as const));
  return Object.fromEntries(entries) as Record<ListKind, FiltersEngine>;
}
