import { EventEmitter } from 'node:events';
import { expect } from 'vitest';
import type { OpenPage } from '../../services/renderer/page/open.ts';
import type { CallLimit, Step } from '../../services/renderer/page/world.ts';

/** The result of a script or a command, or a function of its arguments that returns it. Without an answer, the result is undefined. */
export type Answer = unknown;

/** The name and the arguments of a script or a command. */
export type Call = readonly [name: string, ...args: unknown[]];

/** Returns the name and the arguments of a call of a function by its source. */
export const scriptOf = (call: string): Call => [
  /^\((?:async )?function (\w+)/.exec(call)?.[1] ?? call,
  ...(JSON.parse(`[${call.slice(call.lastIndexOf(')(') + 2, -1)}]`) as unknown[]),
];

/**
 * An open page without a browser: its scripts and commands answer what a test says. Fails if a wait has no time limit or no name for the
 * diagnostics.
 */
export class AnsweringPage {
  /** Names and arguments of the scripts and commands that were called, and sizes to which the viewport was set, in order. */
  readonly calls: Call[] = [];
  /** The names of the scripts that were sent in one message, for each message with several. */
  readonly messages: string[][] = [];
  /** Time limits by the name of the script. */
  readonly limits = new Map<string, CallLimit>();
  /** Time limits of the waits outside of the page, by their names. */
  readonly waits = new Map<string, number>();
  readonly events = new EventEmitter();
  /** Settings that must be undone before another capture uses the page. */
  readonly undo: (() => Promise<unknown>)[] = [];
  /** Functions that run at the end of the capture. */
  readonly cleanUps: (() => void)[] = [];
  readonly open: OpenPage;
  readonly #answers: Readonly<Record<string, Answer>>;

  constructor(answers: Readonly<Record<string, Answer>>, parts: object = {}) {
    this.#answers = answers;
    const call = async (fn: { readonly name: string }, args: readonly unknown[], limit: CallLimit) => {
      this.#limit(fn.name, limit);
      return this.#answer(fn.name, args);
    };
    this.open = {
      page: Object.assign(this.events, { emulateMedia: (media: object) => this.#answer('emulateMedia', [media]) }),
      cdp: { send: (name: string, ...params: readonly unknown[]) => this.#answer(name, params) },
      deadline: {
        remainingMs: 60_000,
        run: (work: Promise<unknown>, timeoutMs: number, what: string) => {
          assertLimit({ timeoutMs, what });
          this.waits.set(what, timeoutMs);
          return work;
        },
      },
      document: { moving: false, answer: undefined, arrivals: 1 },
      frames: { isEmpty: true },
      network: { isLoading: false, isFetching: false, isListening: false },
      onRelease: (cleanUp: () => void) => void this.cleanUps.push(cleanUp),
      undoLater: (step: () => Promise<unknown>) => void this.undo.push(step),
      world: {
        call,
        callInAny: call,
        callEach: async (steps: readonly Step[], limit: CallLimit) => {
          this.messages.push(steps.map(({ expression }) => scriptOf(expression)[0]));
          const results: unknown[] = [];
          for (const { expression } of steps) {
            const [name, ...args] = scriptOf(expression);
            this.#limit(name, limit);
            results.push(await this.#answer(name, args));
          }
          return results;
        },
      },
      emulation: {
        viewport: { width: 640, height: 480, deviceScaleFactor: 1 },
        width: 640,
        grow: async (height: number) => void this.calls.push(['grow', height]),
        setLayoutWidth: async (...size: readonly number[]) => void this.calls.push(['setLayoutWidth', ...size]),
      },
      ...parts,
    } as unknown as OpenPage;
  }

  /** The names of the scripts and commands that were called. */
  get names(): readonly string[] {
    return this.calls.map(([name]) => name);
  }

  #limit(name: string, limit: CallLimit): void {
    assertLimit(limit);
    this.limits.set(name, limit);
  }

  async #answer(name: string, args: readonly unknown[]): Promise<unknown> {
    this.calls.push([name, ...args]);
    const answer = this.#answers[name];
    return typeof answer === 'function'
      ? ((await (answer as (...args: unknown[]) => unknown)(...args)) as unknown)
      : answer;
  }
}

function assertLimit({ timeoutMs, what }: CallLimit): void {
  expect(timeoutMs, what).toBeGreaterThan(0);
  expect(what).not.toBe('');
}
