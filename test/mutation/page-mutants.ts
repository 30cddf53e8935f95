/** The state that StrykerJS keeps in `globalThis.__stryker__` of the process that runs the tests. */
export interface StrykerState {
  /** The id of the active mutant. */
  readonly activeMutant?: string | undefined;
  readonly currentTestId?: string | undefined;
  /** How often each mutant was reached, by id: at import, and in each test. */
  mutantCoverage?: { readonly static: Counts; readonly perTest: Record<string, Counts> };
}

type Counts = Record<string, number>;

const isActiveCall = /stryMutAct_9fa48\(\s*["'](\d+)["']\s*\)/g;
const coverCall = /stryCov_9fa48\(([^)]*)\)/g;

/**
 * Returns the source of a function with only the active mutant. StrykerJS writes all mutants of a file into its code and selects one by
 * calls of helper functions, which do not exist in a page. A mutant counts as reached when its function is sent to a page.
 */
export function resolveMutants(source: string, state: StrykerState): string {
  return source
    .replaceAll(isActiveCall, (_call, id: string) => String(id === state.activeMutant))
    .replaceAll(coverCall, (_call, ids: string) => {
      for (const [, id = ''] of ids.matchAll(/["'](\d+)["']/g)) count(id, state);
      return '0';
    });
}

function count(id: string, state: StrykerState): void {
  const coverage = (state.mutantCoverage ??= { static: {}, perTest: {} });
  const { currentTestId } = state;
  const counts = currentTestId === undefined ? coverage.static : (coverage.perTest[currentTestId] ??= {});
  counts[id] = (counts[id] ?? 0) + 1;
}

/**
 * Makes `toString` of functions return the source with the active mutant. Functions that run in a page are sent there as the result of
 * `toString`. It can be called several times, as in a worker that runs several test files.
 */
export function mutateSerializedFunctions(): void {
  const patched = Symbol.for('webcapture.mutated-sources');
  const prototype = Function.prototype as Function & { [patched]?: true };
  if (prototype[patched] === true) return;
  prototype[patched] = true;
  const sourceOf = Reflect.get(prototype, 'toString') as () => string;
  const state = ((globalThis as { __stryker__?: StrykerState }).__stryker__ ??= {});
  prototype.toString = function (this: unknown) {
    return resolveMutants(Reflect.apply(sourceOf, this, []), state);
  };
}
