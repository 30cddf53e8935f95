import { EventEmitter } from 'node:events';
import type { OpenPage } from '../../services/renderer/page/open.ts';
import type { CallLimit, Step } from '../../services/renderer/page/world.ts';

/** The result of a script in the page, or a function of its arguments that returns it. Scripts without an answer return undefined. */
type Answer = unknown;

/** An open page without a browser: its scripts answer what a test says. */
export class AnsweringPage {
  /** Names and arguments of the scripts that were called, and heights to which the viewport was set, in order. */
  readonly calls: (readonly [name: string, ...args: unknown[]])[] = [];
  /** Time limits by the name of the script. */
  readonly limits = new Map<string, CallLimit>();
  readonly events = new EventEmitter();
  readonly open: OpenPage;
  readonly #answers: Readonly<Record<string, Answer>>;

  constructor(answers: Readonly<Record<string, Answer>>, parts: object = {}) {
    this.#answers = answers;
    this.open = {
      page: this.events,
      deadline: { run: (work: Promise<unknown>) => work },
      frames: { isEmpty: true },
      world: {
        call: async (fn: { readonly name: string }, args: readonly unknown[], limit: CallLimit) => {
          this.limits.set(fn.name, limit);
          return this.#answer(fn.name, args);
        },
        callEach: async (steps: readonly Step[]) => {
          const results: unknown[] = [];
          for (const { expression } of steps) {
            const name = /^\((?:async )?function (\w+)/.exec(expression)?.[1] ?? '';
            const args = JSON.parse(`[${expression.slice(expression.lastIndexOf(')(') + 2, -1)}]`) as unknown[];
            results.push(await this.#answer(name, args));
          }
          return results;
        },
      },
      emulation: {
        viewport: { width: 640, height: 480, deviceScaleFactor: 1 },
        grow: async (height: number) => void this.calls.push(['grow', height]),
      },
      ...parts,
    } as unknown as OpenPage;
  }

  /** The names of the scripts that were called. */
  get names(): readonly string[] {
    return this.calls.map(([name]) => name);
  }

  async #answer(name: string, args: readonly unknown[]): Promise<unknown> {
    this.calls.push([name, ...args]);
    const answer = this.#answers[name];
    return typeof answer === 'function'
      ? ((await (answer as (...args: unknown[]) => unknown)(...args)) as unknown)
      : answer;
  }
}
