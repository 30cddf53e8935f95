import type { KubernetesObject } from '@kubernetes/client-node';
import { backoffMs, delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { isGone, isSilence, type KubernetesClient, type MakeApi } from './client.ts';

/** Why a watch was restarted. A closed set, for metrics. */
export const restartReasons = ['expired', 'error', 'silent', 'relist'] as const;
export type RestartReason = (typeof restartReasons)[number];

export interface ReflectorTimes {
  /**
   * Duration of a watch after which the server ends it. It is shorter than the time after which the client considers the connection dead.
   * The next watch resumes at the same position.
   */
  readonly watchMs: number;
  /** Interval at which everything is listed again, in case an event was lost. */
  readonly relistMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

const reflectorTimes: ReflectorTimes = Object.freeze({
  watchMs: 20_000,
  relistMs: 600_000,
  retryMs: 250,
  maxRetryMs: 8000,
});

/** The requested page of a collection, as the library's typed clients take it. */
interface ListQuery {
  readonly namespace: string;
  readonly limit: number;
  readonly labelSelector?: string;
  readonly _continue?: string;
}

interface ListPage<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly _continue?: string };
  readonly items: readonly T[];
}

/** How to list and watch a collection of the API. */
export interface Collection<T extends KubernetesObject> {
  readonly list: (api: MakeApi, query: ListQuery) => Promise<ListPage<T>>;
  readonly path: (namespace: string) => string;
}

export interface ReflectorOptions<T extends KubernetesObject, V> {
  /** Resource name in the API, for logs and metrics. */
  readonly resource: string;
  readonly client: KubernetesClient;
  readonly collection: Collection<T>;
  readonly labelSelector?: string;
  /** Returns the part of an object to keep, because 5,000 whole pods take 100 MB. Null means that the object is ignored. */
  readonly keep: (object: T) => V | null;
  readonly onChange: () => void;
  readonly onRestart?: (reason: RestartReason) => void;
  readonly log: Logger;
  readonly times?: ReflectorTimes;
}

const pageSize = 500;

/** Time limit for one page of a list; complete pods over a slow link take long. */
const listTimeoutMs = 15_000;

/**
 * Keeps a copy of an API collection by list and watch until the signal aborts. It recovers from connection resets, error answers, server
 * restarts, expired history (410), stuck watches and refused tokens. The informer of the client library ends at the first of these
 * problems, and requests no bookmarks.
 */
export class Reflector<T extends KubernetesObject, V> {
  readonly #options: ReflectorOptions<T, V>;
  readonly #times: ReflectorTimes;
  readonly #now: () => number;
  #objects = new Map<string, V>();
  #version: string | null = null;
  #listedAt = 0;
  #heardAt: number | null = null;
  #failing = false;

  constructor(options: ReflectorOptions<T, V>, now: () => number = () => performance.now()) {
    this.#options = options;
    this.#times = options.times ?? reflectorTimes;
    this.#now = now;
  }

  get objects(): ReadonlyMap<string, V> {
    return this.#objects;
  }

  /** Milliseconds since the server last sent data; null before the first complete list. */
  get ageMs(): number | null {
    return this.#heardAt === null ? null : this.#now() - this.#heardAt;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { resource, log, onRestart } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = this.#now();
      try {
        if (this.#version === null) await this.#list(signal);
        await this.#watch(signal);
        failures = 0;
        // Without this pause, a server that ends each watch immediately would be called in a loop.
        if (this.#now() - startedAt < this.#times.retryMs) await delay(this.#times.retryMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#now() - startedAt > this.#times.maxRetryMs) failures = 0;
        const reason = this.#afterFailure(error);
        onRestart?.(reason);
        if (reason === 'relist') continue;
        failures++;
        if (!this.#failing && reason !== 'expired')
          log.warn({ err: error, resource }, `watch of ${resource} failed; retrying`);
        this.#failing = reason !== 'expired';
        await delay(backoffMs(failures, this.#times.retryMs, this.#times.maxRetryMs), signal);
      }
    }
  }

  #afterFailure(error: unknown): RestartReason {
    if (error instanceof RelistDue || isGone(error)) this.#version = null;
    if (error instanceof RelistDue) return 'relist';
    if (isGone(error)) return 'expired';
    return isSilence(error) ? 'silent' : 'error';
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, collection, labelSelector, keep } = this.#options;
    const objects = new Map<string, V>();
    let metadata: ListPage<T>['metadata'];
    do {
      const page = await client.call(`listing ${resource}`, listTimeoutMs, (api, namespace) =>
        collection.list(api, {
          namespace,
          limit: pageSize,
          ...(labelSelector === undefined ? {} : { labelSelector }),
          ...(metadata?._continue ? { _continue: metadata._continue } : {}),
        }),
      );
      for (const object of page.items) {
        const kept = keep(object);
        if (kept !== null) objects.set(object.metadata?.name ?? '', kept);
      }
      signal.throwIfAborted();
      metadata = page.metadata;
    } while (metadata?._continue);
    this.#objects = objects;
    this.#version = metadata?.resourceVersion ?? '';
    this.#listedAt = this.#now();
    this.#heard();
    this.#options.onChange();
  }

  /** Runs one watch. Returns if the server ends it normally. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { client, resource, collection, labelSelector } = this.#options;
    await client.watch(
      {
        what: `watching ${resource}`,
        path: collection.path,
        query: {
          labelSelector,
          resourceVersion: this.#version ?? undefined,
          allowWatchBookmarks: true,
          timeoutSeconds: Math.ceil(this.#times.watchMs / 1000),
        },
        onOpen: () => this.#heard(),
        onEvent: (type, object) => {
          this.#take(type, object as T);
          this.#heard();
          if (type !== 'BOOKMARK') this.#options.onChange();
        },
      },
      signal,
    );
    this.#heard();
    if (this.#now() - this.#listedAt > this.#times.relistMs) throw new RelistDue();
  }

  #take(type: string, object: T): void {
    const { name = '', resourceVersion = '' } = object.metadata ?? {};
    const kept = type === 'ADDED' || type === 'MODIFIED' ? this.#options.keep(object) : null;
    if (kept !== null) this.#objects.set(name, kept);
    else if (type !== 'BOOKMARK') this.#objects.delete(name);
    this.#version = resourceVersion;
  }

  #heard(): void {
    this.#heardAt = this.#now();
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.log.info({ resource: this.#options.resource }, `watch of ${this.#options.resource} recovered`);
  }
}

class RelistDue extends Error {}
