import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { hashKey, Keys, type KeyRecord } from '../../../services/front/auth/keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { readFrontConfig, type FrontConfig } from '../../../services/front/config.ts';
import { createFront } from '../../../services/front/front.ts';
import type { LinkSigner } from '../../../services/front/signed-links.ts';
import { Api } from '../../harness/api.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { once } from '../../harness/once.ts';
import { AnswerCheck } from '../../harness/openapi.ts';
import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';

export const presetKey = 'a preset key of the tests'.replaceAll(' ', '-');

/** A front on a real nats-server, with stand-ins for its renderers. */
export interface TestFront extends AsyncDisposable {
  readonly nats: TestNats;
  readonly app: FastifyInstance;
  readonly url: string;
  readonly metrics: Registry;
  readonly renderer: StandInRenderer;
  /** Creates another renderer, which is not started. */
  addRenderer(region: Region): Promise<StandInRenderer>;
  /** Starts another front with its own connection to the same server; returns its URL. */
  addFront(): Promise<string>;
  /** Sends any request, with the preset key by default. */
  call(path: string, init?: RequestInit & { key?: string | null }): Promise<Response>;
  capture(body: unknown, options?: { key?: string | null; signal?: AbortSignal }): Promise<Response>;
  /** Makes the fronts drain, as before a shutdown. */
  leave(): void;
  /** Creates a key of a new account; returns the key. */
  makeKey(changes?: Partial<KeyRecord>): Promise<string>;
}

/** Starts a front, and a renderer in the region us-east. `environment` changes the configuration of the front. */
export async function startTestFront(
  environment: Record<string, string> = {},
  options: {
    maxPayload?: number;
    now?: () => number;
    checkTimeoutMs?: number;
    store?: FileStore;
    linkSigner?: LinkSigner;
    log?: Logger;
    statisticsMs?: number;
  } = {},
): Promise<TestFront> {
  const config: FrontConfig = readFrontConfig({
    PORT: '0',
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_API_KEY: presetKey,
    WEBCAPTURE_CDN_URL: 'https://cdn.test',
    ...environment,
  });
  const nats = await startTestNats(config.regions.map(({ region }) => region));
  const stop = new AbortController();
  const leaving = new AbortController();
  const metrics = new Registry();
  const session = await nats.connect();
  if (options.maxPayload !== undefined) {
    // Simulates a server with a smaller limit, which the front must follow.
    const info = { ...session.nc.info, max_payload: options.maxPayload };
    Object.defineProperty(session.nc, 'info', { get: () => info });
  }
  const { now = session.now, checkTimeoutMs, statisticsMs } = options;
  const app = await createFront({
    config,
    session,
    store: options.store ?? new EmbeddedStore(session),
    linkSigner: options.linkSigner,
    log: options.log ?? silentLog,
    metrics,
    signal: stop.signal,
    leaving: leaving.signal,
    now,
    checkTimeoutMs,
    statisticsMs,
  });
  const url = await app.listen({ host: config.host, port: config.port });

  const renderers: StandInRenderer[] = [];
  const addRenderer = async (region: Region) => {
    const renderer = new StandInRenderer(await nats.connect(), region);
    renderers.push(renderer);
    return renderer;
  };
  const renderer = await addRenderer('us-east');
  await renderer.start();

  const others: FastifyInstance[] = [];
  const addFront = async () => {
    const own = await nats.connect();
    const other = await createFront({
      config,
      session: own,
      store: new EmbeddedStore(own),
      log: silentLog,
      metrics: new Registry(),
      signal: stop.signal,
      leaving: leaving.signal,
      now,
      checkTimeoutMs,
      statisticsMs,
    });
    others.push(other);
    return other.listen({ host: config.host, port: 0 });
  };
  const call: TestFront['call'] = (path, { key = presetKey, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (key !== null) headers.set('authorization', `Bearer ${key}`);
    return fetch(url + path, { signal: AbortSignal.timeout(40_000), redirect: 'manual', ...init, headers });
  };
  await until('the front to be up', async () => (await call('/openapi.json')).ok);
  return {
    nats,
    app,
    url,
    metrics,
    renderer,
    addRenderer,
    addFront,
    call,
    capture: (body, options = {}) =>
      call('/capture', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...options,
      }),
    leave: () => leaving.abort(),
    async makeKey(changes = {}) {
      const key = `key-${randomUUID()}`;
      await new Keys(nats.session).put(hashKey(key), {
        id: randomUUID(),
        account: `account-${randomUUID()}`,
        name: 'test',
        scopes,
        createdAt: Date.now(),
        ...changes,
      });
      return key;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(renderers.map((each) => each.stop()));
      leaving.abort();
      stop.abort();
      // The client keeps spare connections without a request, which servers do not treat as idle.
      for (const front of [app, ...others]) front.server.closeAllConnections();
      await Promise.all([app, ...others].map((front) => front.close()));
      await nats[Symbol.asyncDispose]();
    },
  };
}

/** Returns a client that checks the answers of POST /capture against the front's OpenAPI document. */
export function apiOf({ url }: TestFront): Api {
  return new Api({ url, key: presetKey, check: once(() => AnswerCheck.load(`${url}/openapi.json`)) });
}

export interface Envelope {
  readonly success: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly data: Record<string, unknown> | null;
}

/** Repeats a request until the front has received a heartbeat of a renderer of the region. */
export function whenHeard(ask: () => Promise<Response>): ReturnType<typeof read> {
  return until('the front to have heard of the renderer', async () => {
    const answer = await read(await ask());
    return answer.body.error?.code !== 'REGION_UNAVAILABLE' && answer;
  });
}

/** Returns the body of an answer that is a file. */
export const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

/** Returns status, headers and envelope of an answer. */
export async function read(response: Response): Promise<{ status: number; headers: Headers; body: Envelope }> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Envelope };
}
