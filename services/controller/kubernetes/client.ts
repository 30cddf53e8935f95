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

/** Maximum age of credentials. They are read again after that, because certificates are rotated too. */
const maxAccessAgeMs = 300_000;

const connectTimeoutMs = 5000;

/** Time without data after which a connection is destroyed. It is longer than a watch, which the server ends. */
const defaultSilenceMs = 25_000;

/** A library configuration whose requests share one connection pool. */
class PooledConfig extends KubeConfig {
  silenceMs = defaultSilenceMs;
  #tls: buildConnector.BuildOptions = {};
  #pool: Agent | undefined;

  /** The library calls this method for each request, and would create a pool each time. */
  override createDispatcherOptions(...args: Parameters<KubeConfig['createDispatcherOptions']>): { type: 'none' } {
    const options = super.createDispatcherOptions(...args);
    // Both types are node:tls options, but only one declares its optional fields as undefined.
    if ('connect' in options) this.#tls = options.connect as buildConnector.BuildOptions;
    return { type: 'none' };
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    this.#pool ??= new Agent({
      connect: { ...this.#tls, timeout: connectTimeoutMs },
      // Aborting an HTTP/1.1 request closes its connection; HTTP/2 would reuse a stuck connection.
      allowH2: false,
      headersTimeout: this.silenceMs,
      bodyTimeout: this.silenceMs,
    });
    context.setDispatcher(this.#pool);
  }

  /** Closes idle connections now, and the others after their requests. */
  async closePool(): Promise<void> {
    await this.#pool?.close();
  }

  async destroyPool(): Promise<void> {
    await this.#pool?.destroy();
  }
}

/** A cluster and its credentials. */
export interface ClusterAccess {
  readonly config: PooledConfig;
  readonly namespace: string;
}

/** Loads a pod's access from its service account. Throws an Error when a file is missing. */
export function loadInCluster({ host, port, accountDir }: InCluster, namespace?: string): ClusterAccess {
  const config = new PooledConfig();
  // Like loadFromCluster(), which can read the address and files only from the process environment.
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

/** Loads the access from kubeconfig files. Throws an Error that names what is missing. */
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
    throw new Error('KUBECONFIG names a proxy-url, which is not supported; remove it');
  }
  // The library appends paths to the address, so a trailing slash would double.
  config.clusters = config.clusters.map((each) => ({ ...each, server: each.server.replace(/\/+$/, '') }));
  const context = config.getContextObject(config.getCurrentContext());
  return { config, namespace: namespace ?? context?.namespace ?? 'default' };
}

/** Creates a typed client of the library: `api(CoreV1Api)`. */
export type MakeApi = <T extends ApiType>(type: ApiConstructor<T>) => T;

export interface ClientOptions {
  /** Reads the credentials from their files. */
  readonly load: () => ClusterAccess;
  /** Called for each failed call. */
  readonly onError?: (kind: ApiErrorKind) => void;
  readonly silenceMs?: number;
}

export interface WatchRequest {
  /** Name for messages: "watching pods". */
  readonly what: string;
  readonly path: (namespace: string) => string;
  readonly query: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Called when the server starts to answer. */
  readonly onOpen: () => void;
  /** Called with each event that is not an error; the object is parsed JSON. An exception ends the watch. */
  readonly onEvent: (type: string, object: unknown) => void;
}

/**
 * Wraps the client library, which has no deadlines, creates a connection pool for each request, and caches a service account's token for a
 * minute. With this class, all calls share one pool, which destroys silent connections. Each call has a deadline at which it is aborted. If
 * the server refuses the credentials, they are read again and the call is repeated once. Callers do all other retries. Calls throw a {@link
 * KubernetesApiError} if the server refuses the request, and an Error if the server cannot be reached in time.
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

  /** Makes one API call, for example `call('listing pods', 5000, (api, namespace) => api(CoreV1Api).listNamespacedPod({ namespace }))`. */
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
      // This also aborts a body that the library leaves unread when it throws, because its connection would stay occupied.
      aborter.abort();
      this.#options.onError?.(kindOf(error));
      throw error;
    }
  }

  /**
   * Watches until the server ends the watch normally. Throws if the watch ends for another reason. Throws the signal's reason if the signal
   * aborts.
   */
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
          // The library sets json-patch, which requires a list of operations.
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

/** Runs one watch of the library. The library hides exceptions of its callbacks and does not accept a signal. */
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
    // Before the server answers, there is nothing to abort; the pool's timeout ends the request.
    void started.then(
      (controller) => controller.abort(),
      () => undefined,
    );
  }
}

/** The fields of the API's `Status` object that are used here. */
interface ApiStatus {
  readonly code?: number;
  /** The API's reason, such as `Conflict` or `Expired`. */
  readonly reason?: string;
  readonly message?: string;
}

/** The API server refused the request; `status` is the HTTP status. */
class KubernetesApiError extends Error {
  readonly status: number;

  constructor(what: string, { code = 500, reason = '', message = '' }: ApiStatus) {
    super(`${what}: ${code}${reason === '' ? '' : ` ${reason}`}${message === '' ? '' : `: ${message}`}`);
    this.name = 'KubernetesApiError';
    this.status = code;
  }
}

/** The library's errors contain the headers in the message, and the reason in an unparsed body. */
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

/** Whether another client has written since, or the object to create exists already. */
export const isConflict = (error: unknown): boolean => hasStatus(error, 409);

export const isNotFound = (error: unknown): boolean => hasStatus(error, 404);

/** Whether the resource version is too old, so that everything must be listed again. */
export const isGone = (error: unknown): boolean => hasStatus(error, 410);

/** Whether the server no longer accepts the token or the certificate. */
const isUnauthorized = (error: unknown): boolean => hasStatus(error, 401);

/** Whether an open connection sent no data for too long. */
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
