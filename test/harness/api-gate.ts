import { Agent, createServer, request, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { ControlPlane } from './control-plane.ts';

export interface GateRequest {
  readonly method: string;
  readonly path: string;
  readonly isWatch: boolean;
  readonly token: string;
  /** Time on the monotonic clock at which the request was forwarded to the server. */
  readonly at: number;
}

/** Returns the response or fault for a request. Null forwards the request to the server. */
export type Fault =
  | { readonly kind: 'status'; readonly status: number }
  /** A watch that starts successfully and then reports that its history has expired. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'reset' };

/** A proxy in front of an API server, with its certificate, that can fail requests and connections. */
export class ApiGate implements AsyncDisposable {
  readonly url: string;
  /** Every request that was forwarded to the server. */
  readonly requests: GateRequest[] = [];
  /** Called for each request. */
  fault: (request: GateRequest) => Fault | null = () => null;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #agent: Agent;
  #open = true;

  private constructor(server: Server, sockets: Set<Socket>, agent: Agent) {
    this.#server = server;
    this.#sockets = sockets;
    this.#agent = agent;
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async before(plane: ControlPlane): Promise<ApiGate> {
    const { cert, key, ca } = await plane.serving();
    const agent = new Agent({ ca, keepAlive: false });
    const sockets = new Set<Socket>();
    let gate: ApiGate | null = null;
    const server = createServer({ cert, key }, (incoming, response) => gate?.handle(plane.port, incoming, response));
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    gate = new ApiGate(server, sockets, agent);
    return gate;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Resets every connection. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Holds all traffic in both directions, without closing connections. */
  cut(): void {
    this.#open = false;
  }

  /** Forwards traffic again. Earlier connections, which have lost data, are closed. */
  restore(): void {
    this.#open = true;
    this.reset();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = true;
    this.#agent.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  handle(port: number, incoming: IncomingMessage, response: ServerResponse): void {
    const path = incoming.url ?? '';
    const seen: GateRequest = {
      method: incoming.method ?? '',
      path,
      isWatch: path.includes('watch=true'),
      token: incoming.headers.authorization?.replace('Bearer ', '') ?? '',
      at: performance.now(),
    };
    if (!this.#open) return;
    const fault = this.fault(seen);
    if (fault !== null) return misbehave(fault, incoming, response);
    this.requests.push(seen);
    const onward = request(
      { port, host: '127.0.0.1', path, method: seen.method, headers: incoming.headers, agent: this.#agent },
      (answer) => {
        if (!this.#open) return;
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        answer.on('data', (chunk) => this.#open && response.write(chunk));
        answer.on('end', () => this.#open && response.end());
        answer.on('error', () => incoming.socket.destroy());
      },
    );
    onward.on('error', () => incoming.socket.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }
}

function misbehave(fault: Fault, incoming: IncomingMessage, response: ServerResponse): void {
  const status = (code: number, reason: string) => ({
    kind: 'Status',
    apiVersion: 'v1',
    code,
    reason,
    message: 'made up',
  });
  switch (fault.kind) {
    case 'hang':
      return;
    case 'reset':
      (incoming.socket as Socket & { resetAndDestroy(): void }).destroy();
      return;
    case 'expired':
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify({ type: 'ERROR', object: status(410, 'Expired') })}\n`);
      return;
    case 'status':
      response.writeHead(fault.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(status(fault.status, '')));
  }
}
