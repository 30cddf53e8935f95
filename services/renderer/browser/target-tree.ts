import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Page } from 'playwright';
import { attachSession, delayServiceWorkers, type OwnSession } from './driver.ts';
import type { CommandTarget } from './isolated-world.ts';

/** Those fields of a target's events that this module reads. */
export interface TargetEvents {
  'Fetch.authRequired': { requestId: string; authChallenge: { source?: 'Server' | 'Proxy'; origin: string } };
  'Fetch.requestPaused': {
    requestId: string;
    request: { url: string; headers: Record<string, string> };
    frameId: string;
    resourceType: string;
    responseErrorReason?: string;
    responseStatusCode?: number;
    responseHeaders?: { name: string; value: string }[];
  };
  'Runtime.bindingCalled': { name: string; payload: string; executionContextId: number };
  'Runtime.executionContextCreated': { context: { id: number; name: string; auxData?: object } };
  'Runtime.executionContextDestroyed': { executionContextId: number };
  'Runtime.executionContextsCleared': object;
  'Target.attachedToTarget': { sessionId: string; targetInfo: { type: string } };
  'Target.receivedMessageFromTarget': { sessionId: string; message: string };
  'Target.detachedFromTarget': { sessionId: string };
}

/** A part of a page with a separate process: the page itself, a frame of another site, or a service worker. */
export interface Target extends CommandTarget {
  readonly on: <E extends keyof TargetEvents>(event: E, listener: (payload: TargetEvents[E]) => void) => void;
}

/** Prepares the targets of a page for a feature. The promises resolve when the target may run. */
export interface TargetStep {
  /** Prepares a target with frames. */
  readonly frame: (target: Target) => Promise<unknown>;
  /** Prepares a service worker. */
  readonly worker?: (target: Target) => Promise<unknown>;
}

/** Maximum time that a frame or worker waits for its preparation. After it, it runs unprepared. */
const prepareTimeoutMs = 2000;

interface Child {
  readonly target: ChildTarget;
  readonly kind: keyof TargetStep;
  /** Number of steps that the target has begun. */
  begun: number;
  /** Settles when the begun steps have ended. */
  prepared: Promise<unknown>;
}

/**
 * The targets of one page: a separate session with the page and, if the browser isolates sites, a session for each frame of another site,
 * at any depth. The sessions are opened for the first step. Each target, including each service worker, takes all steps before its first
 * request. Frames are attached with nested messages. Flat sessions, which replace nested messages, cannot be reached through a session of
 * Playwright. A session that opens when Playwright announces the frame is too late for the frame's first requests.
 */
export class TargetTree {
  readonly #page: Page;
  readonly #steps: TargetStep[] = [];
  readonly #children = new Set<Child>();
  #opened: Promise<{ readonly session: OwnSession; readonly followed: Promise<unknown> }> | undefined;
  #pageTarget: Target | undefined;
  #stopDelay: (() => void) | undefined;

  constructor(page: Page) {
    this.#page = page;
  }

  /** The current targets with frames, the page's own target first. */
  get targets(): readonly Target[] {
    const frames = [...this.#children].filter(({ kind }) => kind === 'frame').map(({ target }) => target);
    return this.#pageTarget === undefined ? [] : [this.#pageTarget, ...frames];
  }

  /**
   * Adds a step for all current and future targets. Each target begins its steps in the order in which they were added, and runs when all
   * have ended. Resolves when the page's own target has taken the step. Rejects if it failed there.
   */
  async add(step: TargetStep): Promise<void> {
    this.#steps.push(step);
    const { session, followed } = await this.#open();
    const taken = step.frame(session);
    for (const child of this.#children) this.#prepare(child);
    await Promise.all([followed, taken]);
  }

  /** Follows the targets of the page, also without a step. */
  async follow(): Promise<void> {
    const { followed } = await this.#open();
    await followed;
  }

  /** Ends all settings of the steps in the page. */
  async detach(): Promise<void> {
    const opened = await this.#opened;
    this.#stopDelay?.();
    await opened?.session.detach();
  }

  #open() {
    return (this.#opened ??= attachSession(this.#page).then((session) => {
      this.#pageTarget = session;
      this.#stopDelay = delayServiceWorkers(this.#page.context(), prepareTimeoutMs);
      return { session, followed: this.#followChildren(session) };
    }));
  }

  #followChildren(target: Target): Promise<unknown> {
    const children = new Map<string, Child>();
    target.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
      const kind = targetInfo.type === 'service_worker' ? 'worker' : 'frame';
      const child = {
        target: new ChildTarget(target, sessionId),
        kind,
        begun: 0,
        prepared: Promise.resolve(),
      } as const;
      children.set(sessionId, child);
      this.#children.add(child);
      void this.#start(child);
    });
    target.on('Target.receivedMessageFromTarget', ({ sessionId, message }) =>
      children.get(sessionId)?.target.receive(message),
    );
    target.on('Target.detachedFromTarget', ({ sessionId }) => {
      const child = children.get(sessionId);
      if (child === undefined) return;
      children.delete(sessionId);
      this.#children.delete(child);
      child.target.close();
    });
    return target.send('Target.setAutoAttach', {
      autoAttach: true,
      waitForDebuggerOnStart: true,
      flatten: false,
      filter: [{ type: 'iframe' }, { type: 'service_worker' }],
    });
  }

  async #start(child: Child): Promise<void> {
    try {
      await withDeadline(this.#untilPrepared(child), prepareTimeoutMs, 'preparing a frame or worker');
    } catch {
      // The target was removed, or runs unprepared. In both cases it must not delay the capture.
    } finally {
      await child.target.send('Runtime.runIfWaitingForDebugger').catch(() => undefined);
    }
  }

  async #untilPrepared(child: Child): Promise<void> {
    const followed = child.kind === 'frame' ? this.#followChildren(child.target) : undefined;
    this.#prepare(child);
    await followed;
    let prepared;
    do {
      prepared = child.prepared;
      await prepared;
      // Steps may have been added meanwhile.
    } while (prepared !== child.prepared);
  }

  /** Begins the steps that a target has not begun yet. */
  #prepare(child: Child): void {
    const steps = this.#steps.slice(child.begun);
    child.begun = this.#steps.length;
    // A step that fails, for example because the target is gone, must not let the target run before the others have ended.
    child.prepared = Promise.allSettled([child.prepared, ...steps.map((step) => step[child.kind]?.(child.target))]);
  }
}

class ChildTarget implements Target {
  readonly #parent: Target;
  readonly #sessionId: string;
  readonly #calls = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  readonly #listeners = new Map<string, ((payload: never) => void)[]>();
  #lastId = 0;
  #closed = false;

  constructor(parent: Target, sessionId: string) {
    this.#parent = parent;
    this.#sessionId = sessionId;
  }

  readonly on: Target['on'] = (event, listener) => {
    const listeners = this.#listeners.get(event) ?? [];
    listeners.push(listener);
    this.#listeners.set(event, listeners);
  };

  readonly send: Target['send'] = (method, params) => {
    if (this.#closed) return Promise.reject(new Error('the frame is gone'));
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#parent
        .send('Target.sendMessageToTarget', {
          sessionId: this.#sessionId,
          message: JSON.stringify({ id, method, params: params ?? {} }),
        })
        .catch((error: unknown) => {
          this.#calls.delete(id);
          reject(error instanceof Error ? error : new Error(String(error)));
        });
    });
  };

  receive(text: string): void {
    const message = JSON.parse(text) as {
      id?: number;
      result?: never;
      error?: { message: string };
      method?: string;
      params?: never;
    };
    if (message.id === undefined) {
      for (const listener of this.#listeners.get(message.method ?? '') ?? []) listener(message.params as never);
      return;
    }
    const call = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (message.error === undefined) call?.resolve(message.result as never);
    else call?.reject(new Error(message.error.message));
  }

  close(): void {
    this.#closed = true;
    for (const call of this.#calls.values()) call.reject(new Error('the frame is gone'));
    this.#calls.clear();
  }
}
