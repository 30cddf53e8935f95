// @module-tag long
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startDelayProxy } from '../../harness/delay-proxy.ts';
import { until } from '../../harness/until.ts';

/** A proxy in front of a server that echoes, and closes a connection when the client does. */
async function proxyToEcho(roundTripMs: number) {
  const accepted: Socket[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const proxy = await startDelayProxy({ upstream: { host: '127.0.0.1', port }, roundTripMs });
  onTestFinished(async () => {
    await proxy[Symbol.asyncDispose]();
    for (const socket of accepted) socket.destroy();
    server.close();
  });
  return { proxy, accepted };
}

/** A client that has received a response, so that both connections of the proxy are open. */
async function open(port: number): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => void pieces.push(piece));
  socket.write('.');
  await until('the first answer', () => pieces.length > 0, { intervalMs: 2 });
  pieces.length = 0;
  return { socket, received: () => Buffer.concat(pieces).toString() };
}

/** Returns the milliseconds until the server has returned the text. */
async function roundTrip({ socket }: { socket: Socket }, text = 'x'): Promise<number> {
  const start = performance.now();
  const answered = once(socket, 'data');
  socket.write(text);
  await answered;
  return performance.now() - start;
}

/** Returns the shortest of several round trips, because others may wait for a processor on a busy machine. */
async function quickestRoundTrip(client: { socket: Socket }, count: number): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let index = 0; index < count; index++) quickest = Math.min(quickest, await roundTrip(client));
  return quickest;
}

describe('the delay of a proxy', () => {
  test('is the configured round trip, and can be changed', async () => {
    const { proxy } = await proxyToEcho(40);
    const client = await open(proxy.port);
    const far = await quickestRoundTrip(client, 15);
    expect(far).toBeGreaterThan(38.5);
    expect(far).toBeLessThan(50);
    proxy.setRoundTrip(0);
    expect(await quickestRoundTrip(client, 15)).toBeLessThan(10);
  });

  test('applies to the handshake of a new connection', async () => {
    const { proxy, accepted } = await proxyToEcho(60);
    const start = performance.now();
    const socket = connect({ port: proxy.port, host: '127.0.0.1' });
    onTestFinished(() => void socket.destroy());
    await until('the server to know of it', () => accepted.length === 1, { intervalMs: 1 });
    expect(performance.now() - start).toBeGreaterThan(85);
  });

  test('keeps the order and every byte of many connections under load, and is not added up over pieces', async () => {
    const { proxy } = await proxyToEcho(50);
    const clients = await Promise.all(Array.from({ length: 10 }, () => open(proxy.port)));
    const sent = Array.from({ length: 4000 }, (_, index) => `${index} `);
    const start = performance.now();
    await Promise.all(
      clients.map(async ({ socket, received }) => {
        for (const [index, piece] of sent.entries()) {
          socket.write(piece);
          // Writes many pieces in many turns.
          if (index % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        await until('all to be back', () => received().length === sent.join('').length, { intervalMs: 5 });
      }),
    );
    const tookMs = performance.now() - start;
    for (const { received } of clients) expect(received()).toBe(sent.join(''));
    // If the half round trips were consecutive, 800 of them would take 20 s.
    expect(tookMs).toBeLessThan(10_000);
  });

  test('allows more data in flight than a TCP window: 32 MB do not take one round trip per window', async () => {
    const { proxy } = await proxyToEcho(100);
    const { socket } = await open(proxy.port);
    const size = 32 * 1024 * 1024;
    let back = 0;
    socket.on('data', (piece: Buffer) => (back += piece.length));
    const start = performance.now();
    socket.write(Buffer.alloc(size));
    await until('all to be back', () => back === size, { intervalMs: 5 });
    // With a window of 64 KB, this would take 50 s.
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe('a partition', () => {
  test('holds data and new connections, and delivers all of it in order at its end', async () => {
    const { proxy, accepted } = await proxyToEcho(0);
    const { socket, received } = await open(proxy.port);
    proxy.pause();
    for (const word of ['one ', 'two ', 'three']) socket.write(word);
    const late = connect({ port: proxy.port, host: '127.0.0.1' });
    onTestFinished(() => void late.destroy());
    let lateReceived = '';
    late.on('data', (piece: Buffer) => (lateReceived += piece.toString()));
    await once(late, 'connect');
    late.write('late');
    // A leak would be visible within this time. No event shows that there is none.
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([received(), lateReceived, accepted.length]).toEqual(['', '', 1]);
    expect(socket.closed).toBe(false);
    proxy.resume();
    await until('all to arrive', () => received() === 'one two three' && lateReceived === 'late');
    expect(await roundTrip({ socket })).toBeLessThan(1000);
  });

  test('hides the end of a connection until the partition ends', async () => {
    const { proxy, accepted } = await proxyToEcho(0);
    const { socket } = await open(proxy.port);
    proxy.pause();
    socket.resetAndDestroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(accepted[0]?.closed).toBe(false);
    proxy.resume();
    await until('the server to know', () => accepted[0]?.closed === true && proxy.connections() === 0);
  });
});

test('a cut resets every connection and refuses new ones until it ends, on the same port', async () => {
  const { proxy, accepted } = await proxyToEcho(0);
  const clients = [await open(proxy.port), await open(proxy.port)];
  expect(proxy.connections()).toBe(2);
  const errors: (string | undefined)[] = [];
  for (const { socket } of clients) socket.on('error', ({ code }: NodeJS.ErrnoException) => errors.push(code));
  proxy.cut();
  await until('both sides to know', () => accepted.every(({ closed }) => closed) && errors.length === 2);
  expect(errors).toEqual(['ECONNRESET', 'ECONNRESET']);
  expect(proxy.connections()).toBe(0);
  const refused = connect({ port: proxy.port, host: '127.0.0.1' });
  await expect(once(refused, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await proxy.mend();
  expect(await roundTrip(await open(proxy.port))).toBeLessThan(1000);
});

test('the end of either side reaches the other one after all earlier data', async () => {
  const { proxy, accepted } = await proxyToEcho(40);
  const { socket, received } = await open(proxy.port);
  socket.end('the last words');
  await once(socket, 'close');
  expect(received()).toBe('the last words');
  const other = await open(proxy.port);
  const closed = once(other.socket, 'close');
  accepted[1]?.resetAndDestroy();
  await closed;
  await until('both to be gone', () => proxy.connections() === 0);
});
