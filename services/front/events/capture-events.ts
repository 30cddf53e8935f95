import type { CaptureEvent } from '@webcapture/shared/api/capture-event.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { comparisonOf, statusOf } from '@webcapture/shared/captures/view.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { watchWrites, type WriteWatch } from '@webcapture/shared/nats/watch.ts';
import { prefixed } from '@webcapture/shared/nats/streams.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';

export interface CaptureListener {
  readonly onChange: (event: CaptureEvent) => void;
  /** Called when changes may have been missed. The listener gets no further events. */
  readonly onLost: (error: ServiceError) => void;
}

/** Timeout of opening a watch. */
const openTimeoutMs = 3000;

/** Time for which a watch stays open without listeners, so that a client that reconnects soon causes no requests to NATS. */
const lingerMs = 5000;

/** Time after a write to a key or an account after which no front uses an outdated cache. */
const settleMs = 500;

/**
 * Notifies listeners of an account about changes of its captures. All listeners of an account on this front share one watch of its records,
 * which is closed soon after the last listener leaves. An account without listeners has no watch. An account that creates thousands of
 * captures delays only its own listeners.
 */
export class CaptureEvents {
  readonly #session: NatsSession;
  readonly #leaving: AbortSignal;
  readonly #channels = new Map<string, Channel>();

  /** @param leaving aborts when the front shuts down and accepts no new clients */
  constructor(session: NatsSession, leaving: AbortSignal) {
    this.#session = session;
    this.#leaving = leaving;
    leaving.addEventListener('abort', () => {
      for (const channel of this.#channels.values()) {
        if (channel.listeners.size === 0) this.#close(channel);
      }
    });
    session.onStatus(({ type }) => {
      if (type !== 'disconnect') return;
      for (const channel of this.#channels.values()) this.#lose(channel);
    });
  }

  /**
   * Calls the listener for all changes from the time at which the promise resolves until the signal aborts.
   *
   * @throws ServiceError INTERNAL_ERROR if NATS is unavailable
   */
  async listen(account: string, listener: CaptureListener, signal: AbortSignal): Promise<void> {
    const channel = this.#channels.get(account) ?? this.#open(account);
    channel.listeners.add(listener);
    clearTimeout(channel.lingering);
    const leave = () => this.#leave(channel, listener);
    try {
      await channel.watch;
      if (!channel.listeners.has(listener)) throw new Error('the connection was lost meanwhile');
    } catch (cause) {
      leave();
      throw new ServiceError('INTERNAL_ERROR', 'Events cannot be sent right now. Try again in a few seconds.', {
        cause,
      });
    }
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  }

  /** Calls the listener soon after each write to a key or its account, until the signal aborts. */
  onKeyChange(
    { hash, account }: { readonly hash: string; readonly account: string },
    listener: () => void,
    signal: AbortSignal,
  ): void {
    const heard = async () => {
      if (await delay(settleMs, signal)) listener();
    };
    const { nc, kvPrefix } = this.#session;
    const subscriptions = [`key.${hash}`, `account.${account}`].map((key) =>
      nc.subscribe(`${kvPrefix}.${prefixed('db')}.${key}`, {
        callback: (error) => {
          if (error === null) void heard();
        },
      }),
    );
    const stop = () => {
      for (const subscription of subscriptions) subscription.unsubscribe();
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  }

  #open(account: string): Channel {
    const listeners = new Set<CaptureListener>();
    // The removal of a record after 90 days is not an event.
    const onWrite = (record: CaptureRecord | null) => {
      if (record === null) return;
      const event = eventOf(record, this.#session.now());
      for (const { onChange } of listeners) onChange(event);
    };
    const watched = { bucket: 'db', filter: `capture.${account}.>` };
    const channel: Channel = { account, listeners, watch: watchWrites(this.#session, watched, onWrite, openTimeoutMs) };
    this.#channels.set(account, channel);
    channel.watch.then(
      async ({ closed }) => {
        await closed;
        this.#lose(channel);
      },
      () => this.#close(channel),
    );
    return channel;
  }

  #leave(channel: Channel, listener: CaptureListener): void {
    channel.listeners.delete(listener);
    const isClosed = this.#channels.get(channel.account) !== channel;
    if (isClosed || channel.listeners.size > 0) return;
    if (this.#leaving.aborted) this.#close(channel);
    else channel.lingering = setTimeout(() => this.#close(channel), lingerMs).unref();
  }

  #lose(channel: Channel): void {
    const listeners = [...channel.listeners];
    channel.listeners.clear();
    this.#close(channel);
    const message =
      'Events may have been missed: the connection to the queue was lost. Read the captures, and connect again.';
    for (const { onLost } of listeners) onLost(new ServiceError('INTERNAL_ERROR', message));
  }

  #close(channel: Channel): void {
    clearTimeout(channel.lingering);
    if (this.#channels.get(channel.account) === channel) this.#channels.delete(channel.account);
    channel.watch.then(
      (watch) => watch.stop(),
      () => undefined,
    );
  }
}

function eventOf(record: CaptureRecord, now: number): CaptureEvent {
  const { uuid, refresh } = record;
  const changedShare = comparisonOf(record, refresh?.revision)?.changedShare;
  return {
    uuid,
    status: statusOf(record, now),
    refresh: refresh?.state ?? null,
    ...(changedShare === undefined ? {} : { changedShare }),
  };
}

interface Channel {
  readonly account: string;
  readonly listeners: Set<CaptureListener>;
  readonly watch: Promise<WriteWatch>;
  /** Timer that closes the watch if no listener is added in time. */
  lingering?: NodeJS.Timeout;
}
