import { backoffMs, delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { isGone, KubeApiError } from './api-error.ts';
import type { KubeConnection } from './connection.ts';
import { jsonLines } from './lines.ts';

/** What every object of the API says of itself. */
export interface KubeObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
}

/** A closed set, for metrics: why a watch did not just go on. */
export const restartReasons = ['expired', 'error', 'silent', 'relist'] as const;
export type RestartReason = (typeof restartReasons)[number];

export interface ReflectorTimes {
  /** The server ends a watch after this long; the next one goes on where it ended. */
  readonly watchMs: number;
  /** A watch without any word for so long is dead, whatever the connection says. Longer than `watchMs`. */
  readonly silenceMs: number;
  /** Everything is listed anew so often, in case an event was lost. */
  readonly relistMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

const reflectorTimes: ReflectorTimes = Object.freeze({
  watchMs: 20_000,
  silenceMs: 25_000,
  relistMs: 600_000,
  retryMs: 250,
  maxRetryMs: 8000,
});

export interface ReflectorOptions<T extends KubeObject, V> {
  /** As the API names it; for logs and metrics. */
  readonly resource: string;
  readonly connection: KubeConnection;
  /** The collection, once the namespace is known. */
  readonly path: (namespace: string) => string;
  readonly labelSelector?: string;
  /** What is kept of an object: 5,000 whole pods are 100 MB. Null: nothing of this one. */
  readonly keep: (object: T) => V | null;
  readonly onChange: () => void;
  readonly onRestart?: (reason: RestartReason) => void;
  readonly log: Logger;
  readonly times?: ReflectorTimes;
}

interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

interface ListPage<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

const pageSize = 500;

/** Of a page of full pods over a slow link. */
const listLimitMs = 15_000;

/**
 * A copy of a collection of the API, kept up by list and watch for as long as the signal does not abort. It goes on
 * through everything: resets, error answers, a server that restarts, a history that is gone (410), a watch that hangs, a
 * token that is refused. The client library's own informer ends at the first of them.
 */
export class Reflector<T extends KubeObject, V> {
  readonly #options: ReflectorOptions<T, V>;
  readonly #times: ReflectorTimes;
  readonly #now: () => number;
  #objects = new Map<string, V>();
  #version: string | null = null;
  #listedAt = 0;
  #wordAt: number | null = null;
  #failing = false;

  constructor(options: ReflectorOptions<T, V>, now: () => number = () => performance.now()) {
    this.#options = options;
    this.#times = options.times ?? reflectorTimes;
    this.#now = now;
  }

  get objects(): ReadonlyMap<string, V> {
    return this.#objects;
  }

  /** Milliseconds since the server's last word; null before everything was listed for the first time. */
  get ageMs(): number | null {
    return this.#wordAt === null ? null : this.#now() - this.#wordAt;
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
        // A server that ends each watch at once is not asked again at once.
        if (this.#now() - startedAt < this.#times.retryMs) await delay(this.#times.retryMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#now() - startedAt > this.#times.maxRetryMs) failures = 0;
        const reason = this.#afterFailure(error);
        onRestart?.(reason);
        if (reason === 'relist') continue;
        failures++;
        if (!this.#failing && reason !== 'expired')
          log.warn({ err: error, resource }, `watching ${resource} broke; trying on`);
        this.#failing = reason !== 'expired';
        await delay(backoffMs(failures, this.#times.retryMs, this.#times.maxRetryMs), signal);
      }
    }
  }

  #afterFailure(error: unknown): RestartReason {
    if (error instanceof RelistDue || isGone(error)) this.#version = null;
    if (error instanceof RelistDue) return 'relist';
    if (isGone(error)) return 'expired';
    return error instanceof Silence ? 'silent' : 'error';
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { connection, labelSelector, keep } = this.#options;
    const path = await this.#path();
    const objects = new Map<string, V>();
    let page: ListPage<T> | undefined;
    do {
      const from = page?.metadata.continue;
      page = await connection.request<ListPage<T>>({
        method: 'GET',
        path,
        query: { labelSelector, limit: pageSize, continue: from },
        limitMs: listLimitMs,
      });
      for (const object of page.items) {
        const kept = keep(object);
        if (kept !== null) objects.set(object.metadata.name, kept);
      }
      signal.throwIfAborted();
    } while (page.metadata.continue);
    this.#objects = objects;
    this.#version = page.metadata.resourceVersion;
    this.#listedAt = this.#now();
    this.#heard();
    this.#options.onChange();
  }

  /** Ends without an error when the server ends the watch in order. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { connection, labelSelector } = this.#options;
    const silence = new SilenceGuard(this.#times.silenceMs);
    const ended = AbortSignal.any([signal, silence.signal]);
    try {
      const stream = await connection.open(
        {
          method: 'GET',
          path: await this.#path(),
          query: {
            watch: true,
            labelSelector,
            resourceVersion: this.#version ?? undefined,
            allowWatchBookmarks: true,
            timeoutSeconds: Math.ceil(this.#times.watchMs / 1000),
          },
        },
        ended,
      );
      this.#heard();
      for await (const events of jsonLines<WatchEvent<T>>(stream)) {
        silence.heard();
        for (const event of events) this.#take(event);
        this.#heard();
        if (events.some(({ type }) => type !== 'BOOKMARK')) this.#options.onChange();
      }
      this.#heard();
    } catch (error) {
      throw silence.signal.aborted ? new Silence(this.#options.resource, this.#times.silenceMs) : error;
    } finally {
      silence.end();
    }
    if (this.#now() - this.#listedAt > this.#times.relistMs) throw new RelistDue();
  }

  #take({ type, object }: WatchEvent<T>): void {
    if (type === 'ERROR') throw asError(this.#options.resource, object);
    const { name, resourceVersion } = object.metadata;
    const kept = type === 'ADDED' || type === 'MODIFIED' ? this.#options.keep(object) : null;
    if (kept !== null) this.#objects.set(name, kept);
    else if (type !== 'BOOKMARK') this.#objects.delete(name);
    this.#version = resourceVersion;
  }

  #heard(): void {
    this.#wordAt = this.#now();
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.log.info({ resource: this.#options.resource }, `watching ${this.#options.resource} works again`);
  }

  async #path(): Promise<string> {
    const { connection, path } = this.#options;
    return path(await connection.namespace());
  }
}

/** An error that comes within a watch is a Status object. */
function asError(resource: string, status: unknown): KubeApiError {
  const { code = 500, reason = '', message = '' } = status as { code?: number; reason?: string; message?: string };
  return new KubeApiError(`watch of ${resource}`, code, reason, message);
}

class RelistDue extends Error {}

class Silence extends Error {
  constructor(resource: string, ms: number) {
    super(`the watch of ${resource} brought nothing for ${ms / 1000} s`);
  }
}

/** Aborts its signal when nothing is heard for too long. */
class SilenceGuard {
  readonly #aborter = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#aborter.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  heard(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
