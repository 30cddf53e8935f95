import type { LoginAnswer } from './page.ts';
import type { Target, TargetEvents, TargetTree } from './target-tree.ts';

export type PausedRequest = TargetEvents['Fetch.requestPaused'];

/** Selects requests that the browser pauses. Without a stage, before they are sent. */
export interface RequestPattern {
  readonly urlPattern?: string;
  readonly resourceType?: 'Document' | 'Media' | 'XHR' | 'Fetch' | 'Other';
  readonly requestStage?: 'Response';
}

/** How a feature changes the requests of a page. Its functions may also get requests that only other rules pause. */
export interface RequestRule {
  readonly patterns: readonly RequestPattern[];
  /** Whether the request must fail. */
  readonly blocks?: (paused: PausedRequest) => boolean;
  /** Returns the headers with which the request is sent; undefined for its own. */
  readonly headersOf?: (request: PausedRequest['request']) => { name: string; value: string }[] | undefined;
  /** Called when the browser has refused the headers of {@link headersOf}. The request has failed. */
  readonly onRefused?: () => void;
  /** Returns a function that answers the logins of one target. */
  readonly answerLogins?: () => LoginAnswer;
}

/** Whether the response of a paused request has arrived. */
export const hasResponse = ({ responseStatusCode, responseErrorReason }: PausedRequest): boolean =>
  responseStatusCode !== undefined || responseErrorReason !== undefined;

/**
 * Pauses the requests of a page, its frames and its workers in one session, and applies all rules of the capture to each of them. The
 * protocol does not pause WebSockets, the scripts of service workers and of nested workers, and the requests of shared workers.
 */
export class RequestInterceptor {
  readonly #targets: TargetTree;
  readonly #rules: RequestRule[] = [];
  /** Number of rules by the targets that apply them. */
  readonly #applied = new WeakMap<Target, number>();

  constructor(targets: TargetTree) {
    this.#targets = targets;
  }

  /** Resolves when the rule applies to the page. Rejects if the page no longer exists. */
  async add(rule: RequestRule): Promise<void> {
    this.#rules.push(rule);
    const prepare = (target: Target) => this.#prepare(target);
    await this.#targets.add({ frame: prepare, worker: prepare });
  }

  async #prepare(target: Target): Promise<void> {
    const applied = this.#applied.get(target);
    // The first step of a new target applies all rules.
    if (applied === this.#rules.length) return;
    this.#applied.set(target, this.#rules.length);
    if (applied === undefined) this.#listen(target);
    await target.send('Fetch.enable', {
      patterns: this.#rules.flatMap(({ patterns }) => patterns),
      handleAuthRequests: this.#rules.some(({ answerLogins }) => answerLogins !== undefined),
    });
  }

  #listen(target: Target): void {
    target.on('Fetch.requestPaused', (paused) => void this.#decide(target, paused));
    let answer: LoginAnswer | undefined;
    target.on('Fetch.authRequired', (asked) => {
      answer ??= this.#rules.find(({ answerLogins }) => answerLogins !== undefined)?.answerLogins?.();
      const { requestId } = asked;
      const authChallengeResponse = answer?.(asked) ?? { response: 'CancelAuth' };
      // The command rejects if the page or the request no longer exists.
      target.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
    });
  }

  /** Never rejects. Commands are ignored if the page, the frame or the request no longer exists. */
  async #decide(target: Target, paused: PausedRequest): Promise<void> {
    const { requestId } = paused;
    const fail = (errorReason: 'BlockedByClient' | 'Failed') =>
      target.send('Fetch.failRequest', { requestId, errorReason }).then(
        () => true,
        () => false,
      );
    if (this.#rules.some((rule) => rule.blocks?.(paused) === true)) {
      await fail('BlockedByClient');
      return;
    }
    // Each hop of a redirect is paused separately. Headers that were set for one hop are not sent with the next.
    for (const { headersOf, onRefused } of hasResponse(paused) ? [] : this.#rules) {
      const headers = headersOf?.(paused.request);
      if (headers === undefined) continue;
      const isSent = await target.send('Fetch.continueRequest', { requestId, headers }).then(
        () => true,
        () => false,
      );
      if (!isSent && (await fail('Failed'))) onRefused?.();
      return;
    }
    await target.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
  }
}
