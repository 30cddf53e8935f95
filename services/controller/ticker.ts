import { Decider } from './decide/decider.ts';
import type { ControllerParts } from './parts.ts';

/** For so long after the start nothing is decided while the streams are being set up: nobody needs to hear of that. */
const setUpMs = 10_000;

/** The heart of the controller: gather, decide, apply. */
export class Ticker {
  readonly #parts: ControllerParts;
  readonly #decider = new Decider();
  readonly #startedAt = performance.now();
  #lastAt: number | null = null;
  #deciding = false;

  constructor(parts: ControllerParts) {
    this.#parts = parts;
  }

  /** Milliseconds since the last reading was dealt with; 0 before the first. */
  get ageMs(): number {
    return this.#lastAt === null ? 0 : performance.now() - this.#lastAt;
  }

  async tick(): Promise<void> {
    const { gatherer, provisioner, applier, latest } = this.#parts;
    try {
      const facts = await gatherer.read();
      provisioner.heal(facts.queue);
      this.#deciding ||= provisioner.complete || performance.now() - this.#startedAt > setUpMs;
      const report = this.#deciding ? this.#decider.next(facts) : null;
      latest.set({ facts, report });
      await applier.apply(facts, report);
    } finally {
      this.#lastAt = performance.now();
    }
  }
}
