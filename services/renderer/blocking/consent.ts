import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { filterCompactRules } from '@duckduckgo/autoconsent';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { evaluate } from '../browser/isolated-world.ts';
import { driveConsent, type ConsentAnswer, type ConsentMessage } from './scripts/consent.ts';
import type { Target, TargetEvents } from '../browser/target-tree.ts';
import { blockingWorld } from './frames.ts';

/** Name of the function through which a page's consent script sends messages to this process. */
const consentBinding = 'webcaptureConsentSend';

/** The parts that answer consent dialogs: the script, which is the same for every frame, and the rules for each frame. */
export interface ConsentKit {
  readonly script: string;
  /** The start-up message for a frame's script, as JSON: the configuration and the rules that apply to its address. */
  readonly startMessage: (url: string, isTop: boolean) => string;
}

type CompactRules = Parameters<typeof filterCompactRules>[0];

/** Number of searches for a dialog while a page loads, with pauses in between. */
const detectRetries = 40;

const config = {
  enabled: true,
  autoAction: 'optOut',
  enablePrehide: false,
  enableCosmeticRules: true,
  enableGeneratedRules: true,
  detectRetries,
  // Dialogs without a rule are rejected if they have a button for that. They are acknowledged if that is their only option.
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
  // The library's CommonJS build, evaluated like a module inside the frame.
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

/** Outcome of the consent dialogs of a page. */
export interface ConsentOutcome {
  /** Whether a dialog was found, answered or not. */
  readonly found: boolean;
  /** The consent managers whose dialogs were found. */
  readonly managers: readonly string[];
  /** Whether the page navigated meanwhile: some pages reload after an answer. */
  readonly reloaded: boolean;
}

interface ConsentFrame {
  readonly target: Target;
  readonly contextId: number;
}

/** Maximum number of frames that are queried before the shot. On pages with more frames, most of the others are ads. */
const maxFramesAsked = 20;

/** Answers the consent dialogs of one page, in all its frames, from its first document on. */
export class ConsentWatch {
  readonly #kit: ConsentKit;
  readonly #frames = new Set<ConsentFrame>();
  #documents = 0;

  constructor(kit: ConsentKit) {
    this.#kit = kit;
  }

  /** Number of documents that the page has had. */
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
      // Rejects if the frame has navigated to another document.
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
   * Waits until the open dialogs have been answered, for at most `timeoutMs`. If no dialog is open, it checks each frame once, or searches
   * for up to `searchMs` if a dialog is expected. Never rejects.
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
      // If a frame is too busy to end its wait, it is ignored.
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
    const contextId = mainWorlds.mainContextOf(frame.contextId);
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

/** Maps an execution context of a frame to the main world of the same frame. */
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

  mainContextOf(contextId: number): number | undefined {
    const frameId = this.#contexts.get(contextId)?.frameId;
    for (const [id, context] of this.#contexts) if (context.isDefault && context.frameId === frameId) return id;
    return undefined;
  }
}
