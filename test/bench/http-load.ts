import { connect, type Socket } from 'node:net';

export interface Load {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a POST; without a body the request is a GET. */
  readonly body?: string;
  /** Number of clients, each of which sends its next request after a response. */
  readonly connections: number;
  readonly seconds: number;
}

/** In milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export interface LoadResult extends Percentiles {
  readonly perSecond: number;
}

/**
 * Sends the same request repeatedly on persistent connections. The client is minimal, so that it costs less than what it measures. Throws
 * for any response but a 200.
 */
export async function loadOf(load: Load): Promise<LoadResult> {
  const request = requestOf(load);
  const end = performance.now() + load.seconds * 1000;
  const start = performance.now();
  const times = await Promise.all(
    Array.from({ length: load.connections }, () => keepAsking(new URL(load.url), request, end)),
  );
  const seconds = (performance.now() - start) / 1000;
  return { perSecond: times.flat().length / seconds, ...percentilesOf(times.flat()) };
}

/** Percentiles of measured times. */
export function percentilesOf(times: readonly number[]): Percentiles {
  const all = Float64Array.from(times).toSorted();
  const at = (share: number) => all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

function requestOf({ url, path, headers, body }: Load): Buffer {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const fields = { host: new URL(url).host, ...length, ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
}

/** Returns the milliseconds of each response. */
function keepAsking(url: URL, request: Buffer, end: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const times: number[] = [];
    const socket: Socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    let answer = '';
    let sentAt = 0;
    const send = () => {
      sentAt = performance.now();
      socket.write(request);
    };
    socket.setEncoding('latin1');
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (text: string) => {
      answer += text;
      if (!isWhole(answer)) return;
      if (!answer.startsWith('HTTP/1.1 200')) {
        socket.destroy();
        reject(new Error(`the response is ${answer.slice(0, 1000)}`));
        return;
      }
      answer = '';
      const now = performance.now();
      times.push(now - sentAt);
      if (now < end) return send();
      resolve(times);
      socket.destroy();
    });
  });
}

function isWhole(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const length = /content-length: (\d+)/i.exec(answer.slice(0, head))?.[1];
  return length !== undefined && answer.length >= head + 4 + Number(length);
}
