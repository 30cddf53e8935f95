import process from 'node:process';
import fc from 'fast-check';

/** A request to the application in this process, or to a running front. */
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

/** Sends a request and returns the response. */
export type Send = (request: FuzzRequest) => Promise<FuzzResponse>;

/** Code that reads input, a generator of inputs, and the check that every input must pass. */
export interface Target<T = unknown> {
  readonly name: string;
  readonly inputs: fc.Arbitrary<T>;
  /** Throws an error that describes the violation. */
  readonly check: (input: T, send: Send) => unknown;
}

/** Checks that the inputs of a target match its check. */
export const target = <T>(name: string, inputs: fc.Arbitrary<T>, check: Target<T>['check']): Target =>
  ({ name, inputs, check }) as Target;

/** The maximum time for one input, in milliseconds. */
const maxMs = 100;

/**
 * Number of measurements, of which the fastest counts. Garbage collection and other processes may slow down one of them, but not all three.
 */
const timings = 3;

export interface Finding {
  readonly target: string;
  /** A run with this seed reproduces the finding. */
  readonly seed: number;
  readonly input: unknown;
  readonly problem: string;
}

export interface FuzzOptions {
  readonly send: Send;
  /** Whether the tested code runs in this process. */
  readonly isLocal: boolean;
  readonly seed: number;
  readonly count: number;
  /** The time after which no further input is tried. */
  readonly timeLimitMs?: number;
}

/** Checks a number of inputs, or fewer if the time is over, and shrinks the first input that fails. */
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
      // For code in this process, only its processor time counts, not that of other processes.
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
