import { request, type Agent } from 'node:https';
import { text } from 'node:stream/consumers';

export interface ApiAnswer<T> {
  readonly status: number;
  /** Warnings of the server, although the request succeeded. */
  readonly warnings: readonly string[];
  readonly body: T;
}

const limitMs = 15_000;

/** Sends plain requests to a Kubernetes API as the user of a token. */
export class KubeApi {
  readonly #server: string;
  readonly #token: string;
  readonly #agent: Agent;

  constructor(server: string, token: string, agent: Agent) {
    this.#server = server;
    this.#token = token;
    this.#agent = agent;
  }

  /** Returns any response unchecked. A string is sent as YAML, an object as JSON (a PATCH merges). */
  raw<T>(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<ApiAnswer<T>> {
    const data = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const type = typeof body === 'string' ? 'application/yaml' : 'application/json';
    const headers = {
      authorization: `Bearer ${this.#token}`,
      accept: 'application/json',
      ...(data === undefined ? {} : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : type }),
      ...more,
    };
    const options = { method, headers, agent: this.#agent, signal: AbortSignal.timeout(limitMs) };
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#server + path, options, (response) => {
        const status = response.statusCode ?? 0;
        const warnings = response.headersDistinct['warning'] ?? [];
        text(response).then((answer) => resolve({ status, warnings, body: parsed<T>(answer) }), reject);
      });
      outgoing.on('error', reject);
      outgoing.end(data);
    });
  }

  /** Throws the server's message unless the request succeeded. */
  async do<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const answer = await this.raw<T>(method, path, body, headers);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

function parsed<T>(answer: string): T {
  try {
    return JSON.parse(answer) as T;
  } catch {
    return answer as T;
  }
}
