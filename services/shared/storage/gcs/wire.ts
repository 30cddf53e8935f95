import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: readonly Uint8Array[];
  /** Ends the exchange, its answer's body included. */
  readonly signal: AbortSignal;
  /** A connection on which nothing moves for so long is cut before the answer begins. */
  readonly silenceMs: number;
  /** The answer's body is read at the pace of somebody else, who may hold the connection for long. */
  readonly isStreamed?: boolean;
}

/** Nothing moved on a connection for too long. */
class SilenceError extends Error {
  constructor(ms: number) {
    super(`nothing was heard for ${ms} ms`);
    this.name = 'SilenceError';
  }
}

/**
 * Handshakes cost more than most calls: connections are kept. So many at a time; what is more waits its turn. The leader removes
 * 256 files at a time.
 */
const ofCalls = { keepAlive: true, maxSockets: 512, maxFreeSockets: 256, scheduling: 'lifo' } as const;

/** Slow readers must keep nobody else from the bucket. */
const ofStreams = { ...ofCalls, maxSockets: Infinity } as const;

interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** HTTP over connections that are kept, those of one client. */
export class Wire {
  readonly #calls: Agents;
  readonly #streams: Agents;

  /** @param idleMs what nobody has used for so long is closed: what is between may have forgotten it without a word */
  constructor(idleMs = 30_000) {
    const agentsWith = (options: object): Agents => {
      const all = { ...options, timeout: idleMs };
      return { http: new HttpAgent(all), https: new HttpsAgent(all) };
    };
    this.#calls = agentsWith(ofCalls);
    this.#streams = agentsWith(ofStreams);
  }

  /** Sends a request and resolves when the head of its answer is there. Rejects with what the connection failed of. */
  send({
    method,
    url,
    headers,
    body = [],
    signal,
    silenceMs,
    isStreamed = false,
  }: WireRequest): Promise<IncomingMessage> {
    const isSecure = url.protocol === 'https:';
    const agents = isStreamed ? this.#streams : this.#calls;
    const length = body.reduce((sum, part) => sum + part.length, 0);
    return new Promise((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)(url, {
        method,
        agent: isSecure ? agents.https : agents.http,
        headers: { ...headers, ...(method === 'GET' ? {} : { 'content-length': length }) },
        signal,
      });
      request.setTimeout(silenceMs, () => request.destroy(new SilenceError(silenceMs)));
      request.once('socket', (socket) => cutSlowConnect(socket, silenceMs));
      request.once('response', (answer) => {
        // The reader of the body sees to its own pace.
        request.setTimeout(0);
        // An answer that came before all was sent: what is left must not go over a connection that others use.
        answer.once('end', () => {
          if (!request.writableFinished) request.destroy();
        });
        // Heard by the reader of the body; one that comes after its end has no other listener.
        answer.on('error', () => undefined);
        resolve(answer);
      });
      request.on('error', (error) => {
        // The others have gone the same way, for all that is known: the next attempt gets a connection of its own.
        if (error instanceof SilenceError) this.#dropIdle();
        reject(error);
      });
      for (const part of body) request.write(part);
      request.end();
    });
  }

  #dropIdle(): void {
    for (const agent of [this.#calls, this.#streams].flatMap(({ http, https }) => [http, https])) {
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    }
  }

  /** Closes connections that are kept. */
  close(): void {
    for (const agents of [this.#calls, this.#streams]) {
      agents.http.destroy();
      agents.https.destroy();
    }
  }
}

/** The time limit of a request begins only when it is connected. */
function cutSlowConnect(socket: Socket, ms: number): void {
  if (!socket.connecting) return;
  const timer = setTimeout(() => socket.destroy(new SilenceError(ms)), ms);
  socket.once('connect', () => clearTimeout(timer));
  socket.once('close', () => clearTimeout(timer));
}
