// @module-tag long
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { VerifiedLink } from '../../../services/front/auth/capture-links.ts';
import { hashKey } from '../../../services/front/auth/keys.ts';
import { demoLimits } from '../../../services/front/auth/preset-key.ts';
import { until } from '../../harness/until.ts';
import { buildAppAlone } from './app-alone.ts';

const record = { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 };
const holds = 'a-key-that-holds';
const body = '{"url":"https://example.com/"}';
const failures = { capacity: 10, perSecond: 0.001 };
const bytes = { capacity: 20_000, perSecond: 0.001 };

let app: Awaited<ReturnType<typeof buildAppAlone>>;
let registry: Registry;
afterEach(() => app.close());

/** Starts an app that knows one key. A valid request with that key is processed up to its dispatch, and gets QUEUE_FULL. */
async function start(options: Parameters<typeof buildAppAlone>[0] = {}) {
  registry = new Registry();
  app = await buildAppAlone({
    registry,
    lookUp: async (hash) => (hash === hashKey(holds) ? record : null),
    dispatch: () => Promise.reject(new ServiceError('QUEUE_FULL', undefined, { causedBy: 'service' })),
    ...options,
  });
}

interface AskOptions {
  readonly token?: string;
  readonly address?: string;
  readonly forwardedFor?: string;
  readonly path?: string;
}

async function ask(payload: string, options: AskOptions = {}) {
  const { token = 'wrong', address = '192.0.2.1', forwardedFor, path = '/capture' } = options;
  const response = await app.inject({
    method: path === '/capture' ? 'POST' : 'GET',
    url: path,
    remoteAddress: address,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
    },
    payload,
  });
  const { error } = response.json<{ error: { code: string; message: string } }>();
  return { code: error.code, retryAfter: Number(response.headers['retry-after'] ?? 0) };
}

/** Sends `count` requests in sequence; returns their codes. */
async function codes(count: number, payload = body, options: AskOptions = {}) {
  const found: string[] = [];
  for (let index = 0; index < count; index++) found.push((await ask(payload, options)).code);
  return found;
}

async function shedBy(reason: string): Promise<number | undefined> {
  const metric = await registry.getSingleMetric('webcapture_front_shed_total')?.get();
  return metric?.values.find(({ labels }) => labels['reason'] === reason)?.value;
}

describe('the limit of failed authentications of an address', () => {
  test('delays and refuses further failures, while a valid key from the address is accepted', async () => {
    await start({ clientLimits: { failures, penaltyMs: 100 } });
    expect(await codes(10)).toEqual(Array.from({ length: 10 }, () => 'UNAUTHORIZED'));
    const since = performance.now();
    const { code, retryAfter } = await ask(body);
    expect(code).toBe('RATE_LIMIT_EXCEEDED');
    expect(retryAfter).toBeGreaterThan(900);
    expect(performance.now() - since).toBeGreaterThan(90);
    // The body is no longer parsed.
    expect(await codes(1, '{"url":1}')).toEqual(['RATE_LIMIT_EXCEEDED']);
    expect(await codes(1, '', { path: '/usage' })).toEqual(['RATE_LIMIT_EXCEEDED']);
    expect(await shedBy('authentication')).toBe(3);
    expect(await codes(5, body, { token: holds })).toEqual(Array.from({ length: 5 }, () => 'QUEUE_FULL'));
    expect(await codes(1, '{"url":1}', { token: holds })).toEqual(['VALIDATION_ERROR']);
    expect(await codes(1, body, { address: '192.0.2.2' })).toEqual(['UNAUTHORIZED']);
  });

  test('covers a whole IPv6 /64, and an IPv4 address in both notations', async () => {
    await start({ clientLimits: { failures: { capacity: 1, perSecond: 0.001 }, penaltyMs: 0 } });
    expect(await codes(1, body, { address: '2001:db8:0:1::1' })).toEqual(['UNAUTHORIZED']);
    expect(await codes(1, body, { address: '2001:db8:0:1:ffff::2' })).toEqual(['RATE_LIMIT_EXCEEDED']);
    expect(await codes(1, body, { address: '2001:db8:0:2::1' })).toEqual(['UNAUTHORIZED']);
    expect(await codes(1, body, { address: '::ffff:192.0.2.7' })).toEqual(['UNAUTHORIZED']);
    expect(await codes(1, body, { address: '192.0.2.7' })).toEqual(['RATE_LIMIT_EXCEEDED']);
  });

  test('uses the address from trusted proxies, not one from the client', async () => {
    const clientLimits = { failures: { capacity: 1, perSecond: 0.001 }, penaltyMs: 0 };
    await start({ trustProxy: true, proxyHops: 2, clientLimits });
    const via = (client: string) => ({ forwardedFor: `198.51.100.9, ${client}, 203.0.113.1` });
    expect(await codes(1, body, via('192.0.2.1'))).toEqual(['UNAUTHORIZED']);
    expect(await codes(1, body, { forwardedFor: '7.7.7.7, 192.0.2.1, 203.0.113.1' })).toEqual(['RATE_LIMIT_EXCEEDED']);
    expect(await codes(1, body, via('192.0.2.2'))).toEqual(['UNAUTHORIZED']);
  });
});

describe('the limit of invalid input', () => {
  test('makes an address authenticate before its body is parsed', async () => {
    await start({ clientLimits: { bytes, penaltyMs: 0 } });
    // Each body counts as 4,096 bytes more than its length.
    expect(await codes(6, '{"url":1}')).toEqual([
      ...Array.from({ length: 5 }, () => 'VALIDATION_ERROR'),
      'RATE_LIMIT_EXCEEDED',
    ]);
    expect(await shedBy('parsing')).toBe(1);
    expect(await codes(1, '{"url":1}', { token: holds })).toEqual(['VALIDATION_ERROR']);
    expect(await codes(1, body, { token: holds })).toEqual(['QUEUE_FULL']);
  });

  test('refuses further bodies of an account until it has waited', async () => {
    await start({ clientLimits: { bytes, accountBytes: bytes, penaltyMs: 0 } });
    await codes(5, '{"url":1}');
    expect(await codes(6, '{"url":1}', { token: holds })).toEqual([
      ...Array.from({ length: 5 }, () => 'VALIDATION_ERROR'),
      'RATE_LIMIT_EXCEEDED',
    ]);
    expect(await shedBy('account_parsing')).toBe(1);
  });
});

describe('POST /mcp', () => {
  const message = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const invalid = message('tools/call', { name: 'capture_page', arguments: { html: 7, padding: 'x'.repeat(70_000) } });
  const post = (payload: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      remoteAddress: '192.0.2.1',
      headers: { authorization: `Bearer ${holds}`, 'content-type': 'application/json', ...headers },
      payload,
    });

  test('counts for the account as invalid input if no capture is requested, for bodies of any encoding', async () => {
    const accountBytes = { capacity: 2 * invalid.length, perSecond: 0.001 };
    const open = await listen({ clientLimits: { accountBytes } });
    const statuses: number[] = [];
    for (let index = 0; index < 3; index++) statuses.push((await post(invalid)).statusCode);
    expect(statuses).toEqual([200, 200, 429]);
    expect(await shedBy('account_parsing')).toBe(1);
    const socket = open();
    const head = request(holds, 'Transfer-Encoding: chunked', 'Connection: close')
      .replace('/capture', '/mcp')
      .replace(/Content-Length: \d+\r\n/, '');
    const size = invalid.length.toString(16);
    socket.write(`${head.slice(0, -body.length)}${size}\r\n${invalid}\r\n0\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 429 /);
  });

  test('accepts large messages only as tool calls, and does not count paid calls', async () => {
    await start({ clientLimits: { accountBytes: { capacity: 100_000, perSecond: 0.001 } } });
    const html = `<${'a'.repeat(70_000)}`;
    for (let index = 0; index < 3; index++) {
      const paid = await post(message('tools/call', { name: 'capture_page', arguments: { html } }));
      expect([paid.statusCode, paid.body]).toEqual([200, expect.stringContaining('QUEUE_FULL')]);
    }
    for (const method of ['ping', 'tools/list']) {
      const { statusCode, body: answer } = await post(message(method, { padding: 'x'.repeat(66_000) }));
      expect([statusCode, answer]).toEqual([400, expect.stringContaining('65536 bytes')]);
    }
    expect((await post(message('ping', {}))).statusCode).toBe(200);
  });
});

/** Starts the app on a real port; returns a function that opens connections. */
async function listen(options: Parameters<typeof buildAppAlone>[0] = {}) {
  await start(options);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  return () => connect(Number(port), '127.0.0.1');
}

const request = (token: string, ...headers: string[]) =>
  [
    'POST /capture HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${body.length}`,
    ...headers,
    '',
    body,
  ].join('\r\n');

const connections = () =>
  new Promise<number>((resolve, reject) => {
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });

test('an address over its limit may send large bodies with a valid key, and is disconnected without one', async () => {
  const open = await listen({ clientLimits: { failures: { capacity: 1, perSecond: 0.001 }, penaltyMs: 0 } });
  const send = async (token: string, sent: string) => {
    const socket = open().on('error', () => undefined);
    const head = request(token, 'Connection: close').replace(/Content-Length: \d+/, `Content-Length: ${sent.length}`);
    socket.write(head.slice(0, -body.length));
    for (let at = 0; at < sent.length; at += 100_000) socket.write(sent.slice(at, at + 100_000));
    return (await text(socket)).slice(9, 12);
  };
  const large = JSON.stringify({ html: `<${'a'.repeat(1_000_000)}` });
  expect(await send('wrong', body)).toBe('401');
  const socket = open();
  socket.write(request('wrong'));
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 429 .*RATE_LIMIT_EXCEEDED/s);
  expect(await send(holds, body)).toBe('429');
  expect(await send(holds, large)).toBe('429');
  expect(await shedBy('authentication')).toBe(1);
});

test('a body in many small chunks costs more than its bytes', async () => {
  const open = await listen({ clientLimits: { bytes: { capacity: 200_000, perSecond: 0.001 }, penaltyMs: 0 } });
  const socket = open();
  const head = request('wrong', 'Transfer-Encoding: chunked', 'Connection: close').replace(
    /Content-Length: \d+\r\n/,
    '',
  );
  socket.write(`${head.slice(0, -body.length)}${'1\r\n \r\n'.repeat(1000)}0\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect((await ask(body, { address: '127.0.0.1' })).code).toBe('RATE_LIMIT_EXCEEDED');
});

describe('the connections of an address', () => {
  test('are limited: the oldest without a valid key are closed, and no new one is refused', async () => {
    const open = await listen({ maxConnectionsPerAddress: 5 });
    const answered = async (socket: Socket, token: string) => {
      socket.write(request(token));
      return new Promise<string>((resolve) => {
        socket.once('data', (answer) => resolve(String(answer).slice(9, 12)));
      });
    };
    const holder = open();
    expect(await answered(holder, holds)).toBe('429');
    const others: Socket[] = [];
    for (let index = 0; index < 20; index++) {
      const socket = open().on('error', () => undefined);
      others.push(socket);
      // Half a request, so that the connection is neither idle nor answered.
      await new Promise<void>((resolve) => socket.write('POST /capture HTTP/1.1\r\n', () => resolve()));
    }
    await until('the oldest to be closed', async () => (await connections()) === 6);
    expect(await shedBy('connections')).toBe(15);
    expect(await answered(open(), holds)).toBe('429');
    expect(await answered(holder, holds)).toBe('429');
    for (const socket of [holder, ...others]) socket.destroy();
  });

  test('do not count as authenticated after opening a signed link, since anyone may have the link', async () => {
    const account = { id: 'a', name: 'a', createdAt: 0, ...demoLimits };
    const options: VerifiedLink['options'] = [['url', 'https://example.com/']];
    const link = { caller: { account, key: record }, expiresAt: Date.now() + 60_000, options };
    const open = await listen({ maxConnectionsPerAddress: 5, verifyLink: async () => link });
    const sockets = Array.from({ length: 20 }, () => open().on('error', () => undefined));
    const answers = sockets.map((socket) => {
      socket.write('GET /capture?url=x HTTP/1.1\r\nHost: x\r\n\r\n');
      return new Promise<string>((resolve) => socket.once('data', (answer) => resolve(String(answer).slice(9, 12))));
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['429']));
    await until('the oldest to be closed', async () => (await connections()) === 5);
    for (const socket of sockets) socket.destroy();
  });

  test('are all answered if they arrive at once with their requests', async () => {
    const open = await listen({ maxConnectionsPerAddress: 5 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => {
        const socket = open();
        socket.write(request(holds, 'Connection: close'));
        return text(socket);
      }),
    );
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(Array.from({ length: 100 }, () => '429'));
  });

  test.each([
    ['headers', 'POST /capture HTTP/1.1\r\n'],
    ['a body', request('wrong').slice(0, -5)],
    ['what is no HTTP', 'nonsense\r\n\r\n'],
  ])('that send %s, time out and are never closed by the client are released', async (_name, sent) => {
    await start();
    Object.assign(app.server, { headersTimeout: 300, requestTimeout: 300, connectionsCheckingInterval: 50 });
    const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const sockets = Array.from({ length: 40 }, () =>
      connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined),
    );
    for (const socket of sockets) socket.write(sent);
    await until('all to be there', async () => (await connections()) === 40);
    // Data that is still sent does not keep a connection open.
    const dripping = setInterval(() => sockets.forEach((socket) => socket.write('x')), 50);
    await until('all to be closed', async () => (await connections()) === 0, { deadlineMs: 8000 });
    clearInterval(dripping);
    for (const socket of sockets) socket.destroy();
  });

  test('carry pipelined requests up to a limit', async () => {
    const looked = Promise.withResolvers<null>();
    const open = await listen({ lookUp: () => looked.promise });
    const few = open();
    few.write(request('wrong').repeat(9) + request('wrong', 'Connection: close'));
    const many = open();
    many.on('error', () => undefined);
    many.write(request('wrong').repeat(100));
    await until('one to be closed', () => many.destroyed);
    looked.resolve(null);
    expect((await text(few)).match(/HTTP\/1\.1 401/g)).toHaveLength(10);
    expect(await shedBy('pipelining')).toBe(1);
  });
});
