import { once } from 'node:events';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { Client, ProtocolError, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type CallToolResult, Server } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { mcpInstructions, mcpToolList } from '@webcapture/shared/api/mcp-tools.ts';

/** Version of the MCP interface. The service reports the same value. */
const version = '1.0.0';

/** Maximum duration of a capture, including the wait for a renderer. */
const callTimeoutMs = 300_000;
const connectTimeoutMs = 15_000;

export interface McpOptions {
  /** Address of the service, which may have a path. */
  readonly url: string;
  readonly apiKey: string;
  /**
   * Streams of the protocol: the desktop client writes its messages to `input` and reads those of the server from `output`, so no other
   * text may be written to `output`.
   */
  readonly input: Readable;
  readonly output: Writable;
  /** Stream for messages to the user. */
  readonly errors?: Writable;
  readonly signal?: AbortSignal;
}

/**
 * Runs a server of the Model Context Protocol for desktop clients, which start a program and communicate over stdin and stdout. The server
 * forwards every call to `POST /mcp` of the service. Resolves when the client has closed its side, or the signal aborts.
 */
export async function runMcp({
  url,
  apiKey,
  input,
  output,
  errors = process.stderr,
  signal,
}: McpOptions): Promise<void> {
  const service = new Service(url, apiKey);
  const warn = (message: string) => errors.write(`webcapture mcp: ${message}\n`);
  const server = serveStdio(() => makeServer(service, warn), {
    transport: new StdioServerTransport(input, output),
    onerror: ({ message }) => warn(message),
  });
  try {
    const ended = [once(input, 'close'), once(input, 'end'), once(output, 'close')];
    const aborted = signal === undefined ? [] : [abortOf(signal)];
    await Promise.race([...ended, ...aborted]);
  } catch (error) {
    warn(error instanceof Error ? error.message : String(error));
  } finally {
    await server.close();
    await service.close();
  }
}

const abortOf = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * Serves the tools of the service. While the service is unavailable, it lists the tools that this program knows, because some clients
 * request the list only once.
 */
function makeServer(service: Service, warn: (message: string) => void): Server {
  const info = { name: 'webcapture', title: 'webcapture', version };
  const server = new Server(info, { capabilities: { tools: {} }, instructions: mcpInstructions });
  server.setRequestHandler('tools/list', async (_request, { mcpReq }) => {
    try {
      return await service.use((client) => client.listTools({}, { signal: mcpReq.signal, timeout: connectTimeoutMs }));
    } catch (error) {
      warn(service.explain(error));
      return { tools: mcpToolList };
    }
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallToolResult> => {
    try {
      const { name, arguments: args = {} } = params;
      const options = { signal: mcpReq.signal, timeout: callTimeoutMs };
      return await service.use((client) => client.callTool({ name, arguments: args }, options));
    } catch (error) {
      // The error of the service is about the message itself, for example an unknown tool.
      if (error instanceof ProtocolError) throw error;
      const text = service.explain(error);
      warn(text);
      return { content: [{ type: 'text', text }], isError: true };
    }
  });
  return server;
}

/** The connection to the service. If it fails, the next call connects again. */
class Service {
  readonly #url: URL;
  readonly #apiKey: string;
  readonly #closing = new AbortController();
  #client: Promise<Client> | undefined;

  constructor(url: string, apiKey: string) {
    this.#url = new URL('mcp', url.endsWith('/') ? url : `${url}/`);
    this.#apiKey = apiKey;
  }

  async use<T>(call: (client: Client) => Promise<T>): Promise<T> {
    const connecting = (this.#client ??= this.#connect());
    let client: Client;
    try {
      client = await connecting;
    } catch (error) {
      if (this.#client === connecting) this.#client = undefined;
      throw error;
    }
    return call(client);
  }

  async #connect(): Promise<Client> {
    const client = new Client({ name: 'webcapture-cli', version }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${this.#apiKey}` } };
    await client.connect(new StreamableHTTPClientTransport(this.#url, { requestInit }), {
      timeout: connectTimeoutMs,
      signal: this.#closing.signal,
    });
    return client;
  }

  /** Describes a connection error to the service, with advice. */
  explain(error: unknown): string {
    const { origin, pathname } = this.#url;
    const address = `${origin}${pathname}`;
    const status = error instanceof SdkHttpError ? error.status : undefined;
    if (status === 401) {
      return `UNAUTHORIZED: the service at ${address} does not accept the API key. Start "webcapture mcp" with a valid key.`;
    }
    if (status !== undefined) {
      const advice = status === 429 || status >= 500 ? 'Try again later.' : 'Check the address and the API key.';
      return `The service at ${address} responded with HTTP status ${status}. ${advice}`;
    }
    // The innermost cause contains the most information. The outer errors only say that fetch failed.
    let reason = error;
    while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
    const words = reason instanceof Error ? reason.message : String(reason);
    return `The service at ${address} is unavailable (${words}). Check the address, or try again later.`;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.then((client) => client.close()).catch(() => undefined);
  }
}
