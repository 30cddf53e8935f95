import type { JetStreamManager } from '@nats-io/jetstream';
import type { Region } from '../runtime/regions.ts';
import { backoffMs, delay } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { isDifferentConfig } from './api-errors.ts';
import type { NatsSession } from './connect.ts';
import { consumerConfigs, streamConfigs, type StreamSettings } from './streams.ts';

/**
 * Brings all streams and durables to their wanted configuration; safe to repeat, and to run from several controllers.
 * Throws the server's error when it refuses, e.g. for three replicas on a single server.
 */
export async function provision(jsm: JetStreamManager, settings: StreamSettings, regions: readonly Region[]) {
  for (const config of streamConfigs(settings)) {
    const info = await addOrUpdate(
      () => jsm.streams.add(config),
      () => jsm.streams.update(config.name, config),
    );
    // An older server ignores fields that it does not know, in silence.
    for (const field of ['allow_atomic', 'allow_msg_schedules', 'allow_msg_ttl'] as const) {
      if (config[field] === true && info.config[field] !== true) {
        throw new Error(`the NATS server does not support ${field} (stream ${config.name}); upgrade nats-server`);
      }
    }
  }
  for (const { stream, config } of consumerConfigs(regions)) {
    await addOrUpdate(
      () => jsm.consumers.add(stream, config),
      () => jsm.consumers.update(stream, config.durable_name, config),
    );
  }
}

async function addOrUpdate<T>(add: () => Promise<T>, update: () => Promise<T>): Promise<T> {
  try {
    return await add();
  } catch (error) {
    if (!isDifferentConfig(error)) throw error;
    return await update();
  }
}

/** Waits until the controller has provisioned everything that this process uses; rejects when `signal` aborts. */
export async function waitUntilProvisioned(
  session: NatsSession,
  wanted: { streams: readonly string[]; durables?: readonly { stream: string; durable: string }[] },
  deps: { log: Logger; signal: AbortSignal },
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    deps.signal.throwIfAborted();
    try {
      for (const stream of wanted.streams) await session.jsm.streams.info(stream);
      for (const { stream, durable } of wanted.durables ?? []) await session.jsm.consumers.info(stream, durable);
      return;
    } catch (error) {
      if (attempt % 10 === 3) deps.log.warn({ err: error }, 'waiting for the controller to set up the streams');
      await delay(backoffMs(attempt, 100, 2000), deps.signal);
    }
  }
}
