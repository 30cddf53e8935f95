import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { CDPSession } from 'playwright';
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

/** Maximum time that a frame or worker waits for its preparation. After it, it runs unprepared. */
const prepareTimeoutMs = 2000;

/**
 * The targets of one page: the attached session and, if the browser isolates sites, a session for each frame of another site, at any depth.
 * Each target, including each service worker, is prepared before its first request. Frames are attached with nested messages. Flat
 * sessions, which replace nested messages, cannot be reached through a session of Playwright. A session that opens when Playwright
 * announces the frame is too late for the frame's first requests.
 */
export class TargetTree {
  readonly #targets = new Set<Target>();
  readonly #prepare: Readonly<Record<'frame' | 'worker', (target: Target) => Promise<unknown>>>;

  /** @param prepare prepares a target before it runs: one function for targets with frames, one for workers */
  constructor(prepare: Readonly<Record<'frame' | 'worker', (target: Target) => Promise<unknown>>>) {
    this.#prepare = prepare;
  }

  /** Follows the targets of a page. Resolves when the page's own target is prepared. Rejects if that preparation failed. */
  attach(session: Pick<CDPSession, 'send' | 'on'>): Promise<void> {
    return this.#add({
      send: session.send.bind(session),
      on: (event, listener) => session.on(event, listener as () => void),
    });
  }

  /** The current targets with frames, the page's own target first. */
  get targets(): readonly Target[] {
    return [...this.#targets];
  }

  async #add(target: Target): Promise<void> {
    this.#targets.add(target);
    const children = new Map<string, ChildTarget>();
    target.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
      const child = new ChildTarget(target, sessionId);
      children.set(sessionId, child);
      const isWorker = targetInfo.type === 'service_worker';
      void this.#start(child, isWorker ? this.#prepare.worker(child) : this.#add(child));
    });
    target.on('Target.receivedMessageFromTarget', ({ sessionId, message }) =>
      children.get(sessionId)?.receive(message),
    );
    target.on('Target.detachedFromTarget', ({ sessionId }) => {
      const child = children.get(sessionId);
      if (child === undefined) return;
      children.delete(sessionId);
      this.#targets.delete(child);
      child.close();
    });
    await Promise.all([
      target.send('Target.setAutoAttach', {
        autoAttach: true,
        waitForDebuggerOnStart: true,
        flatten: false,
        filter: [{ type: 'iframe' }, { type: 'service_worker' }],
      }),
      this.#prepare.frame(target),
    ]);
  }

  async #start(child: ChildTarget, preparing: Promise<unknown>): Promise<void> {
    try {
      await withDeadline(preparing, prepareTimeoutMs, 'preparing a frame or worker');
    } catch {
      // The target was removed, or runs unprepared. In both cases it must not delay the capture.
    } finally {
      await child.send('Runtime.runIfWaitingForDebugger').catch(() => undefined);
    }
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
