import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';

/** A public address. Nothing connects to it: the upstream proxies of the tests connect to a server of the test in its place. */
export const routedAddress = '93.184.215.14';

/** Address of the upstream proxies, which the egress policy refuses to pages. */
export const upstreamAddress = '127.0.0.9';

interface Credentials {
  readonly user: string;
  readonly password: string;
}

interface UpstreamOptions {
  /** Port of the server on 127.0.0.1 to which all connections lead. */
  readonly leadsTo: number;
  /** The proxy refuses clients without these credentials. */
  readonly credentials?: Credentials;
  /** `silent`: requests get no answer. `garbage`: the answer is of another protocol. A number: the HTTP status or SOCKS reply of each request. */
  readonly answer?: 'silent' | 'garbage' | number;
  /** Host that the proxy cannot reach. */
  readonly unreachable?: string;
  /** Certificate and key, for an https proxy. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** An upstream proxy with a real socket. */
export interface TestUpstream {
  readonly port: number;
  /** Each requested target, `host:port`, in order. */
  readonly targets: readonly string[];
  /** Number of accepted connections. */
  readonly connections: () => number;
  /** Source addresses of the connections. */
  readonly sources: ReadonlySet<string | undefined>;
  close(): Promise<void>;
}

/** Starts a proxy that serves CONNECT. */
export async function startHttpUpstream(options: UpstreamOptions): Promise<TestUpstream> {
  const targets: string[] = [];
  const server = options.tls === undefined ? http.createServer() : https.createServer(options.tls);
  server.on('request', (_, response) => response.writeHead(405).end());
  server.on('connect', (request: http.IncomingMessage, client: Socket) => {
    client.on('error', () => undefined);
    targets.push(request.url ?? '');
    const { credentials, answer } = options;
    if (answer === 'silent') return;
    if (answer === 'garbage') return void client.end('SSH-2.0-test\r\n');
    if (typeof answer === 'number') return void client.end(`HTTP/1.1 ${answer} Refused\r\n\r\nno`);
    const basic = Buffer.from(`${credentials?.user}:${credentials?.password}`).toString('base64');
    if (credentials && request.headers['proxy-authorization'] !== `Basic ${basic}`) {
      return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n');
    }
    if (options.unreachable !== undefined && request.url?.startsWith(`${options.unreachable}:`)) {
      return void client.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
    }
    join(client, options.leadsTo, () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
  });
  return listen(server, targets);
}

/** Starts a SOCKS5 proxy (RFC 1928, and RFC 1929 for credentials). */
export async function startSocksUpstream(options: UpstreamOptions): Promise<TestUpstream> {
  const targets: string[] = [];
  const server = net.createServer((client) => {
    client.on('error', () => undefined);
    void serveSocks(client, options, targets).catch(() => client.destroy());
  });
  return listen(server, targets);
}

async function serveSocks(client: Socket, options: UpstreamOptions, targets: string[]): Promise<void> {
  const { credentials, answer } = options;
  const take = reader(client);
  const [, count = 0] = await take(2);
  const methods = await take(count);
  if (answer === 'garbage') return void client.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  const method = credentials === undefined ? 0 : 2;
  if (!methods.includes(method)) return void client.end(Buffer.from([5, 0xff]));
  client.write(Buffer.from([5, method]));
  if (credentials !== undefined) {
    const user = await take((await take(2))[1] ?? 0);
    const password = await take((await take(1))[0] ?? 0);
    const isRight = user.toString() === credentials.user && password.toString() === credentials.password;
    client.write(Buffer.from([1, isRight ? 0 : 1]));
    if (!isRight) return void client.end();
  }
  const [, , , kind] = await take(4);
  const host = await readHost(kind ?? 0, take);
  const port = (await take(2)).readUInt16BE();
  targets.push(`${host.includes(':') ? `[${host}]` : host}:${port}`);
  if (answer === 'silent') return;
  const reply = (code: number) => client.write(Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]));
  if (typeof answer === 'number') {
    reply(answer);
    return void client.end();
  }
  if (host === options.unreachable) {
    reply(4);
    return void client.end();
  }
  join(client, options.leadsTo, () => reply(0));
}

async function readHost(kind: number, take: (bytes: number) => Promise<Buffer>): Promise<string> {
  if (kind === 1) return (await take(4)).join('.');
  if (kind === 3) return (await take((await take(1))[0] ?? 0)).toString();
  const bytes = await take(16);
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

/** Returns a function that waits for the next bytes of a socket. */
function reader(socket: Socket): (bytes: number) => Promise<Buffer> {
  return async (bytes) => {
    for (;;) {
      const chunk = bytes === 0 ? Buffer.alloc(0) : (socket.read(bytes) as Buffer | null);
      if (chunk !== null) return chunk;
      await once(socket, 'readable');
    }
  };
}

/** Connects a client of a proxy to a server. */
function join(client: Socket, port: number, onOpen: () => void): void {
  const server = net.connect(port, '127.0.0.1');
  server.on('error', () => client.destroy());
  server.once('connect', () => {
    onOpen();
    client.pipe(server).pipe(client);
  });
  client.once('close', () => server.destroy());
}

async function listen(server: Server, targets: readonly string[]): Promise<TestUpstream> {
  const sockets = new Set<Socket>();
  const sources = new Set<string | undefined>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sources.add(socket.remoteAddress);
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, upstreamAddress);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    targets,
    connections: () => connections,
    sources,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
