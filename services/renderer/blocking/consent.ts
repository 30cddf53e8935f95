import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { filterCompactRules } from '@duckduckgo/autoconsent';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { evaluate } from '../browser/isolated-world.ts';
import { driveConsent, type ConsentAnswer, type ConsentMessage } from './scripts/consent.ts';
import type { Target, TargetEvents } from '../browser/target-tree.ts';
import { blockingWorld } from './frames.ts';

/** Name of the function by which a page's consent script talks to this process. */
const consentBinding = 'webcaptureConsentSend';

/** What answers consent dialogs: the script for every frame, and the rules for each. */
export interface ConsentKit {
  readonly script: string;
  /** The start-up message for a frame's script, as JSON: configuration and the rules that matter at its address. */
  readonly startMessage: (url: string, isTop: boolean) => string;
}

type CompactRules = Parameters<typeof filterCompactRules>[0];

/** How often, with pauses in between, a page is looked over for a dialog while it loads. */
const detectRetries = 40;

const config = {
  enabled: true,
  autoAction: 'optOut',
  enablePrehide: false,
  enableCosmeticRules: true,
  enableGeneratedRules: true,
  detectRetries,
  // Dialogs that no rule knows: reject where they have a button for it, acknowledge where that is all they offer.
  heuristicMode: 'tier1',
  logs: { lifecycle: false, rulesteps: false, detectionsteps: false, evals: false, errors: false, messages: false },
};

export async function loadConsentKit(): Promise<ConsentKit> {
  const require = createRequire(import.meta.url);
  const [library, rulesText] = await Promise.all([
    readFile(require.resolve('@duckduckgo/autoconsent'), 'utf8'),
    readFile(require.resolve('@duckduckgo/autoconsent/rules/compact-rules.json'), 'utf8'),
  ]);
  const rules = JSON.parse(rulesText) as CompactRules;
  // The library's CommonJS build, run as a module would be, inside the frame.
  const script = `(() => {
if (!/^https?:$/.test(location.protocol) || globalThis.webcaptureConsent) return;
const module = { exports: {} };
(function (module, exports) {
${library}
})(module, module.exports);
(${driveConsent.toString()})(module.exports.default, globalThis.${consentBinding});
})();`;
  return {
    script,
    startMessage: (url, isTop) =>
      JSON.stringify({
        type: 'initResp',
        config,
        rules: { autoconsent: [], compact: filterCompactRules(rules, { url, mainFrame: isTop }) },
      }),
  };
}

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
const maxFramesAsked = 20;

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
      this.#answer(frame, JSON.parse(payload) as ConsentMessage, mainWorlds).catch(() => undefined);
    });
    await Promise.all([
      target.send('Page.enable'),
      target.send('Runtime.enable'),
      target.send('Runtime.addBinding', { name: consentBinding, executionContextName: blockingWorld }),
      target.send('Page.addScriptToEvaluateOnNewDocument', { source: this.#kit.script, worldName: blockingWorld }),
    ]);
  }

  /**
   * Waits until the dialogs that are there have been answered, for at most `timeoutMs`; without any it takes one look at each
   * frame, or looks for up to `searchMs` where one is expected. Never rejects.
   */
  async awaitAnswers(timeoutMs: number, searchMs: number): Promise<ConsentOutcome> {
    const documents = this.#documents;
    const frames = [...this.#frames].slice(0, maxFramesAsked);
    const answers = await Promise.all(frames.map((frame) => this.#awaitAnswer(frame, timeoutMs, searchMs)));
    const found = answers.filter((answer) => answer?.answered === true || answer?.answered === false);
    const managers = answers.flatMap((answer) => answer?.manager ?? []);
    return { found: found.length > 0, managers, reloaded: this.#documents !== documents };
  }

  async #awaitAnswer({ target, contextId }: ConsentFrame, timeoutMs: number, searchMs: number) {
    try {
      const times = [timeoutMs, Math.min(timeoutMs, searchMs)].map(Math.round);
      const answer = evaluate(target, { contextId, expression: `webcaptureConsent.awaitAnswer(${times.join(', ')})` });
      // A frame that is too busy to end its own wait is not waited for.
      return (await withDeadline(answer, timeoutMs + 250, 'answering a consent dialog')) as ConsentAnswer;
    } catch {
      return null;
    }
  }

  async #answer(frame: ConsentFrame, message: ConsentMessage, mainWorlds: MainWorlds): Promise<void> {
    const reply = async (json: string) => {
      await evaluate(frame.target, {
        contextId: frame.contextId,
        expression: `webcaptureConsent.receive(${json})`,
      });
    };
    if (message.type === 'init') {
      if (message.isTop) this.#documents += 1;
      this.#frames.add(frame);
      return reply(this.#kit.startMessage(message.url, message.isTop));
    }
    const contextId = mainWorlds.beside(frame.contextId);
    const result = await evaluate(frame.target, {
      ...(contextId === undefined ? {} : { contextId }),
      expression: message.code,
    }).catch(() => false);
    await reply(JSON.stringify({ type: 'evalResp', id: message.id, result: result ?? null }));
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
