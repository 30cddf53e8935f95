import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { ConsentAnswer, ConsentTold } from '../in-page/drive-consent.ts';
import { evaluate, worldName } from '../isolated-world.ts';
import type { Target, TargetEvents } from '../target-tree.ts';
import { consentBinding, type ConsentKit } from './consent-kit.ts';

/** How the consent dialogs of a page ended. */
export interface ConsentOutcome {
  /** A dialog was found, answered or not. */
  readonly found: boolean;
  /** The consent managers whose dialogs were found. */
  readonly managers: readonly string[];
  /** The page went to another document meanwhile: some reload once they have been answered. */
  readonly reloaded: boolean;
}

interface ConsentFrame {
  readonly target: Target;
  readonly contextId: number;
}

/** Frames asked before the shot; pages with more of them have advertising in the rest. */
const maxFrames = 20;

/** Answers the consent dialogs of one page, in all its frames, from its first document on. */
export class ConsentWatch {
  readonly #kit: ConsentKit;
  readonly #frames = new Set<ConsentFrame>();
  #documents = 0;

  constructor(kit: ConsentKit) {
    this.#kit = kit;
  }

  /** How many documents the page has had. */
  get documents(): number {
    return this.#documents;
  }

  async prepare(target: Target): Promise<void> {
    const mainWorlds = new MainWorlds(target);
    target.on('Runtime.executionContextDestroyed', ({ executionContextId }) =>
      this.#forget(target, executionContextId),
    );
    target.on('Runtime.executionContextsCleared', () => this.#forget(target));
    target.on('Runtime.bindingCalled', ({ name, payload, executionContextId }) => {
      if (name !== consentBinding) return;
      const frame = { target, contextId: executionContextId };
      // A rejection means that the frame has gone on to another document.
      this.#answer(frame, JSON.parse(payload) as ConsentTold, mainWorlds).catch(() => undefined);
    });
    await Promise.all([
      target.send('Page.enable'),
      target.send('Runtime.enable'),
      target.send('Runtime.addBinding', { name: consentBinding, executionContextName: worldName }),
      target.send('Page.addScriptToEvaluateOnNewDocument', { source: this.#kit.script, worldName }),
    ]);
  }

  /**
   * Waits until the dialogs that are there have been answered, for at most `ms`; without any it takes one look at each
   * frame, or looks for up to `lookMs` where one is expected. Never rejects.
   */
  async settle(ms: number, lookMs: number): Promise<ConsentOutcome> {
    const documents = this.#documents;
    const frames = [...this.#frames].slice(0, maxFrames);
    const answers = await Promise.all(frames.map((frame) => this.#settleFrame(frame, ms, lookMs)));
    const found = answers.filter((answer) => answer?.answered === true || answer?.answered === false);
    const managers = answers.flatMap((answer) => answer?.manager ?? []);
    return { found: found.length > 0, managers, reloaded: this.#documents !== documents };
  }

  async #settleFrame({ target, contextId }: ConsentFrame, ms: number, lookMs: number) {
    try {
      const expression = `webcaptureConsent.settle(${Math.round(ms)}, ${Math.round(Math.min(ms, lookMs))})`;
      // A frame that is too busy to end its own wait is not waited for.
      const settled = withDeadline(evaluate(target, { contextId, expression }), ms + 250, 'answering a consent dialog');
      return (await settled) as ConsentAnswer;
    } catch {
      return null;
    }
  }

  async #answer(frame: ConsentFrame, told: ConsentTold, mainWorlds: MainWorlds): Promise<void> {
    const reply = async (message: string) => {
      await evaluate(frame.target, {
        contextId: frame.contextId,
        expression: `webcaptureConsent.receive(${message})`,
      });
    };
    if (told.type === 'init') {
      if (told.isTop) this.#documents += 1;
      this.#frames.add(frame);
      return reply(this.#kit.startMessage(told.url, told.isTop));
    }
    const contextId = mainWorlds.beside(frame.contextId);
    const result = await evaluate(frame.target, {
      ...(contextId === undefined ? {} : { contextId }),
      expression: told.code,
    }).catch(() => false);
    await reply(JSON.stringify({ type: 'evalResp', id: told.id, result: result ?? null }));
  }

  #forget(target: Target, contextId?: number): void {
    for (const frame of this.#frames) {
      if (frame.target === target && (contextId === undefined || frame.contextId === contextId)) {
        this.#frames.delete(frame);
      }
    }
  }
}

/** Which context is the page's own in the frame of another context. */
class MainWorlds {
  readonly #contexts = new Map<number, { frameId: string; isDefault: boolean }>();

  constructor(target: Target) {
    target.on('Runtime.executionContextCreated', ({ context }: TargetEvents['Runtime.executionContextCreated']) => {
      this.#contexts.set(context.id, context.auxData as { frameId: string; isDefault: boolean });
    });
    target.on('Runtime.executionContextDestroyed', ({ executionContextId }) =>
      this.#contexts.delete(executionContextId),
    );
    target.on('Runtime.executionContextsCleared', () => this.#contexts.clear());
  }

  beside(contextId: number): number | undefined {
    const frameId = this.#contexts.get(contextId)?.frameId;
    for (const [id, context] of this.#contexts) if (context.isDefault && context.frameId === frameId) return id;
    return undefined;
  }
}
