import process from 'node:process';
import fc from 'fast-check';

/** A request, as it is sent to the application or to a real front. */
interface FuzzRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface FuzzResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Who answers requests. */
export type Send = (request: FuzzRequest) => Promise<FuzzResponse>;

/** Something that reads input, with inputs for it, and what must hold for every one. */
export interface Target<T = unknown> {
  readonly name: string;
  readonly inputs: fc.Arbitrary<T>;
  /** Throws what is wrong. */
  readonly check: (input: T, send: Send) => unknown;
}

/** Keeps the type of the inputs between the two parts of a target. */
export const target = <T>(name: string, inputs: fc.Arbitrary<T>, check: Target<T>['check']): Target =>
  ({ name, inputs, check }) as Target;

/** No input may keep a process busy for longer. */
const maxMs = 100;

/** The garbage collector and other processes make one run slow, not three. */
const timings = 3;

export interface Finding {
  readonly target: string;
  /** With it, the target finds the same again. */
  readonly seed: number;
  readonly input: unknown;
  readonly problem: string;
}

export interface FuzzOptions {
  readonly send: Send;
  /** Whether what answers runs in this process. */
  readonly isLocal: boolean;
  readonly seed: number;
  readonly count: number;
  /** No input is tried later. */
  readonly timeLimitMs?: number;
}

/** Gives a target so many inputs, fewer when the time is over, and shrinks what it stumbles over. */
export async function fuzz(
  { name, inputs, check }: Target,
  { send, isLocal, seed, count, timeLimitMs = 120_000 }: FuzzOptions,
): Promise<{ readonly inputs: number; readonly finding: Finding | null }> {
  const checkInTime = async (input: unknown) => {
    let fastest = Infinity;
    for (let attempt = 0; attempt < timings; attempt++) {
      const start = performance.now();
      const used = process.cpuUsage();
      const result = check(input, send);
      if (result instanceof Promise) await result;
      const ms = performance.now() - start;
      if (ms <= maxMs) return;
      // In this process, what others of the machine take does not count.
      const { user, system } = process.cpuUsage(used);
      fastest = Math.min(fastest, isLocal ? (user + system) / 1000 : ms);
      if (fastest <= maxMs) return;
    }
    throw new Error(`it took ${Math.round(fastest)} ms`);
  };
  const {
    failed,
    counterexample,
    errorInstance,
    numRuns,
    seed: used,
  } = await fc.check(fc.asyncProperty(inputs, checkInTime), {
    seed,
    numRuns: count,
    interruptAfterTimeLimit: timeLimitMs,
  });
  if (!failed || counterexample === null) return { inputs: numRuns, finding: null };
  const finding = { target: name, seed: used, input: counterexample[0], problem: problemOf(errorInstance) };
  return { inputs: numRuns, finding };
}

const problemOf = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error));
