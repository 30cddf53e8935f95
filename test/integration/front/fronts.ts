import { Registry } from 'prom-client';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { CacheEntry } from '@webcapture/shared/captures/cache.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { readFrontConfig } from '../../../services/front/config.ts';
import { createFront } from '../../../services/front/front.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { presetKey, startTestFront, type TestFront } from './test-front.ts';

/** Two fronts on one nats-server. */
export interface Fronts extends AsyncDisposable {
  readonly front: TestFront;
  capture(front: 0 | 1, body: object, options?: { key?: string; signal?: AbortSignal }): Promise<Response>;
  /** Number of requests that both fronts have received. */
  requests(): number;
  /** Returns the cache entries of captures of this URL. */
  entriesOf(url: string): Promise<CacheEntry[]>;
  /** Makes the cache entry of the capture expire in `ms` milliseconds. */
  endIn(uuid: string, ms: number): Promise<void>;
  /** Makes the cached capture `ms` milliseconds older. */
  age(uuid: string, ms: number): Promise<void>;
}

export async function startFronts(): Promise<Fronts> {
  const front = await startTestFront();
  const stop = new AbortController();
  const config = readFrontConfig({
    PORT: '0',
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_CDN_URL: 'https://cdn.test',
  });
  const session = await front.nats.connect();
  const second = await createFront({
    config,
    session,
    store: new EmbeddedStore(session),
    log: silentLog,
    metrics: new Registry(),
    signal: stop.signal,
    leaving: stop.signal,
  });
  const urls = [front.url, await second.listen({ host: config.host, port: config.port })] as const;
  let requests = 0;
  for (const app of [front.app, second]) app.server.on('request', () => (requests += 1));
  const entries = new Entries(front.nats.session, 'cache');

  const all = async () => {
    const { state } = await front.nats.session.jsm.streams.info('KV_cache', { subjects_filter: '$KV.cache.>' });
    const keys = Object.keys(state.subjects ?? {}).map((subject) => subject.slice('$KV.cache.'.length));
    const found = await Promise.all(keys.map(async (key) => ({ key, entry: await entries.get<CacheEntry>(key) })));
    return found.flatMap(({ key, entry }) => (entry === null ? [] : [{ key, value: entry.value }]));
  };
  return {
    front,
    requests: () => requests,
    capture: (front, body, { key = presetKey, signal } = {}) =>
      fetch(`${urls[front]}/capture`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
        signal: signal ?? AbortSignal.timeout(40_000),
      }),
    entriesOf: async (url) => (await all()).map(({ value }) => value).filter(({ done }) => done?.record.url === url),
    async endIn(uuid, ms) {
      for (const { key, value } of await all()) {
        if (value.done?.record.uuid !== uuid) continue;
        await entries.put(key, { ...value, done: { ...value.done, until: session.now() + ms } });
      }
    },
    async age(uuid, ms) {
      for (const { key, value } of await all()) {
        const { done } = value;
        if (done?.record.outcome === undefined || done.record.uuid !== uuid) continue;
        const outcome = { ...done.record.outcome, capturedAt: done.record.outcome.capturedAt - ms };
        await entries.put(key, { ...value, done: { ...done, record: { ...done.record, outcome } } });
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      // The client keeps spare connections without a request, which servers do not treat as idle.
      for (const app of [front.app, second]) app.server.closeAllConnections();
      await second.close();
      await front[Symbol.asyncDispose]();
    },
  };
}
