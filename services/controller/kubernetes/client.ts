import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import {
  ApiException,
  createConfiguration,
  KubeConfig,
  PatchStrategy,
  ServerConfiguration,
  Watch,
  type ApiConstructor,
  type ApiType,
  type Configuration,
  type RequestContext,
} from '@kubernetes/client-node';
import { Agent, type buildConnector } from 'undici';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { InCluster } from './settings.ts';

/** How long the credentials are kept before they are read again, whatever happens: certificates are rotated, too. */
const maxAccessAgeMs = 300_000;

const connectTimeoutMs = 5000;

/** A connection that brings nothing for so long is destroyed: longer than a watch lasts, which the server ends itself. */
const defaultSilenceMs = 25_000;

/** A configuration of the library whose requests share one pool of connections. */
class PooledConfig extends KubeConfig {
  silenceMs = defaultSilenceMs;
  #tls: buildConnector.BuildOptions = {};
  #pool: Agent | undefined;

  /** Called for each request; keeps the library from making a pool for it. */
  override createDispatcherOptions(...args: Parameters<KubeConfig['createDispatcherOptions']>): { type: 'none' } {
    const options = super.createDispatcherOptions(...args);
    // Both types are those of node:tls; only one has its optional fields undefined.
    if ('connect' in options) this.#tls = options.connect as buildConnector.BuildOptions;
    return { type: 'none' };
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    this.#pool ??= new Agent({
      connect: { ...this.#tls, timeout: connectTimeoutMs },
      // An aborted HTTP/1.1 request takes its connection with it; one that hangs would be used again under HTTP/2.
      allowH2: false,
      headersTimeout: this.silenceMs,
      bodyTimeout: this.silenceMs,
    });
    context.setDispatcher(this.#pool);
  }

  /** Idle connections end now, the others with their requests. */
  async closePool(): Promise<void> {
    await this.#pool?.close();
  }

  async destroyPool(): Promise<void> {
    await this.#pool?.destroy();
  }
}

/** A cluster, and the credentials for it. */
export interface ClusterAccess {
  readonly config: PooledConfig;
  readonly namespace: string;
}

/** The access of a pod, by its service account. Throws an Error when one of its files is missing. */
export function loadInCluster({ host, port, accountDir }: InCluster, namespace?: string): ClusterAccess {
  const config = new PooledConfig();
  // As loadFromCluster() does, which takes address and files from the environment of the process alone.
  config.loadFromClusterAndUser(
    {
      name: 'in-cluster',
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      caFile: join(accountDir, 'ca.crt'),
      skipTLSVerify: false,
    },
    {
      name: 'service-account',
      authProvider: { name: 'tokenFile', config: { tokenFile: join(accountDir, 'token') } },
    },
  );
  return { config, namespace: namespace ?? readFileSync(join(accountDir, 'namespace'), 'utf8').trim() };
}

/** The access that kubeconfig files describe. Throws an Error that says what is missing. */
export function loadKubeconfig(files: readonly string[], namespace?: string): ClusterAccess {
  const [config = new PooledConfig(), ...others] = files.map((file) => {
    const each = new PooledConfig();
    each.loadFromFile(file);
    return each;
  });
  for (const other of others) config.mergeConfig(other);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('KUBECONFIG names no cluster: set a current context in it');
  if (cluster.proxyUrl !== undefined) {
    throw new Error('KUBECONFIG names a proxy-url, which is not supported: reach the API server without');
  }
  // The library puts paths behind it as it is.
  config.clusters = config.clusters.map((each) => ({ ...each, server: each.server.replace(/\/+$/, '') }));
  const context = config.getContextObject(config.getCurrentContext());
  return { config, namespace: namespace ?? context?.namespace ?? 'default' };
}

/** Makes a typed client of the library: `api(CoreV1Api)`. */
export type MakeApi = <T extends ApiType>(type: ApiConstructor<T>) => T;

export interface ClientOptions {
  /** Reads the access anew. */
  readonly load: () => ClusterAccess;
  /** Gets each call that failed. */
  readonly onError?: (kind: ApiErrorKind) => void;
  readonly silenceMs?: number;
}

export interface WatchRequest {
  /** For messages: "watching pods". */
  readonly what: string;
  readonly path: (namespace: string) => string;
  readonly query: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The server has begun to answer. */
  readonly onOpen: () => void;
  /** Gets each event but errors, the object as parsed JSON. What it throws ends the watch. */
  readonly onEvent: (type: string, object: unknown) => void;
}

/**
 * The border to the client library, which knows no deadlines, makes a pool of connections for each request, and keeps a
 * service account's token for a minute. Here all calls share one pool whose silent connections are destroyed, each call has a
 * deadline at which it is aborted, and credentials that are refused are read anew and the call repeated, once; all other retries
 * are the callers'. Calls throw a {@link KubernetesApiError} for what the server refuses, and an Error when it cannot be
 * reached in time.
 */
export class KubernetesClient {
  readonly #options: ClientOptions;
  #access: ClusterAccess | null = null;
  #loadedAt = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get namespace(): string {
    return this.#load().namespace;
  }

  /** One call of the API: `call('listing pods', 5000, (api, namespace) => api(CoreV1Api).listNamespacedPod({ namespace }))`. */
  async call<T>(what: string, timeoutMs: number, work: (api: MakeApi, namespace: string) => Promise<T>): Promise<T> {
    const aborter = new AbortController();
    const attempt = () => {
      const { config, namespace } = this.#load();
      const configuration = configurationOf(config, aborter.signal);
      return work((type) => new type(configuration), namespace);
    };
    try {
      return await withDeadline(this.#authorized(what, attempt), timeoutMs, what);
    } catch (error) {
      // Also what the library leaves unread when it throws: the connection would stay taken.
      aborter.abort();
      this.#options.onError?.(kindOf(error));
      throw error;
    }
  }

  /** Watches until the server ends it in order. Throws when it ends otherwise, and the signal's reason when that aborts. */
  async watch(request: WatchRequest, signal: AbortSignal): Promise<void> {
    try {
      await this.#authorized(request.what, () => watchOnce(this.#load(), request, signal));
    } catch (error) {
      if (!signal.aborted) this.#options.onError?.(kindOf(error));
      throw error;
    }
  }

  /** Destroys all connections. */
  async close(): Promise<void> {
    const access = this.#access;
    this.#access = null;
    await access?.config.destroyPool();
  }

  async #authorized<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const attemptOnce = () =>
      attempt().catch((error: unknown) => {
        throw asApiError(what, error);
      });
    try {
      return await attemptOnce();
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
      this.#forget();
      return attemptOnce();
    }
  }

  #load(): ClusterAccess {
    if (performance.now() - this.#loadedAt > maxAccessAgeMs) this.#forget();
    if (this.#access === null) {
      this.#access = this.#options.load();
      this.#access.config.silenceMs = this.#options.silenceMs ?? defaultSilenceMs;
      this.#loadedAt = performance.now();
    }
    return this.#access;
  }

  #forget(): void {
    void this.#access?.config.closePool();
    this.#access = null;
  }
}

function configurationOf(config: KubeConfig, signal: AbortSignal): Configuration {
  return createConfiguration({
    baseServer: new ServerConfiguration(config.getCurrentCluster()?.server ?? '', {}),
    authMethods: { default: config },
    promiseMiddleware: [
      {
        pre: async (request) => {
          request.setSignal(signal);
          request.setHeaderParam('User-Agent', 'webcapture-controller');
          // The library says json-patch, which takes a list of operations.
          if (request.getHttpMethod() === 'PATCH') {
            request.setHeaderParam('Content-Type', PatchStrategy.MergePatch);
          }
          return request;
        },
        post: async (response) => response,
      },
    ],
  });
}

/** One watch of the library, which hides what its callbacks throw and knows no signal. */
async function watchOnce(
  { config, namespace }: ClusterAccess,
  { what, path, query, onOpen, onEvent }: WatchRequest,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let isOver = false;
  const take = (type: string, object: unknown) => {
    if (isOver) return;
    try {
      if (type === 'ERROR') throw new KubernetesApiError(what, object as ApiStatus);
      onEvent(type, object);
    } catch (error) {
      isOver = true;
      reject(error);
    }
  };
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const started = new Watch(config).watch(path(namespace), query, take, (error) => {
    isOver = true;
    if (error) reject(error);
    else resolve();
  });
  const opened = started.then(() => {
    if (!isOver) onOpen();
  });
  try {
    await Promise.all([ended, opened]);
  } finally {
    isOver = true;
    signal.removeEventListener('abort', onAbort);
    // Without an answer there is nothing to abort yet: then the pool's time limit ends it.
    void started.then(
      (controller) => controller.abort(),
      () => undefined,
    );
  }
}

/** The API's `Status` object, as far as it is read here. */
interface ApiStatus {
  readonly code?: number;
  /** The API's own word, such as `Conflict` or `Expired`. */
  readonly reason?: string;
  readonly message?: string;
}

/** The API server refused; `status` is that of HTTP. */
class KubernetesApiError extends Error {
  readonly status: number;

  constructor(what: string, { code = 500, reason = '', message = '' }: ApiStatus) {
    super(`${what}: ${code}${reason === '' ? '' : ` ${reason}`}${message === '' ? '' : `: ${message}`}`);
    this.name = 'KubernetesApiError';
    this.status = code;
  }
}

/** The library's errors carry the answer's headers in their message, and the reason in a body that is not parsed. */
function asApiError(what: string, error: unknown): unknown {
  if (error instanceof ApiException) {
    const body: unknown = error.body;
    return new KubernetesApiError(what, { ...statusIn(typeof body === 'string' ? body : ''), code: error.code });
  }
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') {
    return new KubernetesApiError(what, { code: error.statusCode, message: error.message });
  }
  return error;
}

function statusIn(body: string): ApiStatus {
  try {
    return JSON.parse(body) as ApiStatus;
  } catch {
    return { message: body.slice(0, 200).trim() };
  }
}

const hasStatus = (error: unknown, status: number) => error instanceof KubernetesApiError && error.status === status;

/** Somebody else wrote since, or the object that was to be made is there already. */
export const isConflict = (error: unknown): boolean => hasStatus(error, 409);

export const isNotFound = (error: unknown): boolean => hasStatus(error, 404);

/** What was seen last is too long ago: everything has to be listed anew. */
export const isGone = (error: unknown): boolean => hasStatus(error, 410);

/** The token, or the certificate, is no longer taken. */
const isUnauthorized = (error: unknown): boolean => hasStatus(error, 401);

/** The connection stood, and brought nothing for too long. */
export function isSilence(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return (
    code === 'UND_ERR_HEADERS_TIMEOUT' ||
    code === 'UND_ERR_BODY_TIMEOUT' ||
    error.name === 'TimeoutError' ||
    isSilence(error.cause)
  );
}

/** A closed set, for metrics. */
export const apiErrorKinds = [
  'connection',
  'unauthorized',
  'forbidden',
  'not_found',
  'conflict',
  'throttled',
  'server',
  'other',
] as const;
export type ApiErrorKind = (typeof apiErrorKinds)[number];

const kindByStatus: Readonly<Record<number, ApiErrorKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  429: 'throttled',
};

function kindOf(error: unknown): ApiErrorKind {
  if (!(error instanceof KubernetesApiError)) return 'connection';
  return kindByStatus[error.status] ?? (error.status >= 500 ? 'server' : 'other');
}
