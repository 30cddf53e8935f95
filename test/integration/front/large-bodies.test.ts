import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { maxBodyBytes, maxOpenBytes } from '../../../services/front/api/capture-body.ts';
import { until } from '../../harness/until.ts';
import { buildAppAlone } from './app-alone.ts';

const key = { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 };

let app: Awaited<ReturnType<typeof buildAppAlone>>;
let url: URL;
let lookUp: () => Promise<typeof key | null>;
/** The server side of all connections. */
const accepted = new Set<Socket>();

/** A valid request with a valid key reaches its dispatch, and is answered with 429. */
beforeAll(async () => {
  app = await buildAppAlone({
    lookUp: () => lookUp(),
    dispatch: () => Promise.reject(new ServiceError('QUEUE_FULL', undefined, { causedBy: 'service' })),
  });
  app.server.on('connection', (socket) => {
    accepted.add(socket);
    socket.once('close', () => accepted.delete(socket));
  });
  url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
});
beforeEach(() => {
  lookUp = async () => null;
  bearer = `Authorization: Bearer ${randomUUID()}`;
});
afterAll(() => app.close());

function open(): Socket {
  return connect(Number(url.port), url.hostname);
}

const head = (...headers: string[]) =>
  ['POST /capture HTTP/1.1', 'Host: x', 'Content-Type: application/json', ...headers, '', ''].join('\r\n');
/** An API key that was not looked up before. */
let bearer: string;
const closing = 'Connection: close';

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const messageOf = (answer: string) =>
  (JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as { error: { message: string } }).error.message;

/** Sends a whole request on a new connection; returns the answer. */
async function send(body: string, ...headers: string[]): Promise<string> {
  const socket = open();
  socket.write(head(closing, `Content-Length: ${Buffer.byteLength(body)}`, ...headers));
  socket.write(body);
  return text(socket);
}

const html = (length: number) => JSON.stringify({ html: `<${'a'.repeat(length)}` });
const chunk = (bytes: string) => `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`;

describe('without a valid API key', () => {
  test('a small body is validated before the key is checked, a large one is not', async () => {
    expect(statusOf(await send('{"url":1}'))).toBe(400);
    expect(statusOf(await send(JSON.stringify({ url: 1, html: 'a'.repeat(maxOpenBytes - 30) })))).toBe(400);
    expect(statusOf(await send(JSON.stringify({ url: 1, html: 'a'.repeat(maxOpenBytes) })))).toBe(401);
  });

  test('a Content-Length over the maximum is a 400', async () => {
    const socket = open();
    socket.end(head(`Content-Length: ${maxBodyBytes + 1}`));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each([
    ['announced', head(`Content-Length: ${maxBodyBytes}`), ' '.repeat(maxOpenBytes + 1)],
    ['in chunks', head('Transfer-Encoding: chunked'), chunk(' '.repeat(maxOpenBytes + 1))],
  ])('a large body, %s, is refused and disconnected before the rest arrives', async (_name, headers, body) => {
    const socket = open();
    socket.write(headers + body);
    let answer = '';
    socket.on('data', (bytes) => (answer += String(bytes)));
    await until('the answer', () => answer.endsWith('}'));
    expect(statusOf(answer)).toBe(401);
    expect(answer.toLowerCase()).toContain('connection: close');
    socket.end();
    await until('the connection to be closed', () => socket.destroyed);
  });

  test('the refusal of a small body keeps the connection open', async () => {
    const socket = open();
    const body = '{"url":"https://example.com/"}';
    socket.write(head(`Content-Length: ${body.length}`) + body);
    socket.write(head(closing, `Content-Length: ${body.length}`) + body);
    expect((await text(socket)).match(/HTTP\/1\.1 401/g)).toHaveLength(2);
  });
});

describe('the API key of a large body', () => {
  test('is looked up while the body arrives, and the front does not read on meanwhile', async () => {
    const looked = Promise.withResolvers<typeof key>();
    const asked = Promise.withResolvers<void>();
    lookUp = () => (asked.resolve(), looked.promise);
    const body = html(1_000_000);
    const socket = open();
    const answer = text(socket);
    socket.write(head(closing, bearer, `Content-Length: ${body.length}`));
    await asked.promise;
    socket.write(body);
    const received = await until('the server to stop reading', async () => {
      const before = bytesRead();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return before > maxOpenBytes && before === bytesRead() && before;
    });
    // Buffers of Node and of the sockets add to the limit.
    expect(received).toBeLessThan(500_000);
    looked.resolve(key);
    expect(statusOf(await answer)).toBe(429);
  });

  const bytesRead = () => [...accepted].reduce((sum, socket) => sum + socket.bytesRead, 0);

  test('that cannot be looked up is not accepted', async () => {
    lookUp = () => Promise.reject(new Error('unavailable'));
    expect(statusOf(await send(html(100_000), bearer))).toBe(500);
    expect(statusOf(await send(html(100_000)))).toBe(401);
  });

  test('may still be looked up when the client disconnects, without harm to others', async () => {
    const looked = Promise.withResolvers<typeof key>();
    lookUp = () => looked.promise;
    const socket = open();
    socket.write(head(bearer, 'Content-Length: 1000000') + ' '.repeat(200_000));
    await until('the request to come', () => bytesRead() > 0);
    socket.destroy();
    looked.resolve(key);
    await until('it to be gone', () => accepted.size === 0);
    expect(statusOf(await send(html(100_000), bearer))).toBe(429);
  });

  test('if valid, has the body validated like a small one', async () => {
    lookUp = async () => key;
    expect(statusOf(await send(html(1_000_000), bearer))).toBe(429);
    const padding = `"html":"${'a'.repeat(maxOpenBytes)}"`;
    const answers = await Promise.all(
      [`{${padding},"__proto__":{}}`, `{${padding},}`, `{${padding},"quality":0}`].map((body) => send(body, bearer)),
    );
    expect(answers.map(statusOf)).toEqual([400, 400, 400]);
    const [proto = '', comma = '', quality = ''] = answers.map(messageOf);
    expect(proto).toContain('__proto__ is not a field of the request');
    expect(comma).toContain('the body is not valid JSON');
    expect(quality).toContain('quality must be an integer');
  });

  test('if valid, has a chunked body read to its end', async () => {
    lookUp = async () => key;
    const body = html(1_000_000);
    const socket = open();
    socket.write(head(closing, bearer, 'Transfer-Encoding: chunked'));
    for (let at = 0; at < body.length; at += 50_000) socket.write(chunk(body.slice(at, at + 50_000)));
    socket.write('0\r\n\r\n');
    expect(statusOf(await text(socket))).toBe(429);
  });
});

describe('a client that waits for "100 Continue"', () => {
  const expecting = 'Expect: 100-continue';

  test('is refused before it sends its large body', async () => {
    const socket = open();
    socket.write(head(expecting, 'Content-Length: 1000000'));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('is refused and disconnected by other routes, since a body may follow', async () => {
    const socket = open();
    socket.write(`POST /keys HTTP/1.1\r\nHost: x\r\n${expecting}\r\nContent-Length: 10\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 .*connection: close/is);
  });

  test('gets a 100 for a small body, and for a large one with a valid key', async () => {
    lookUp = async () => key;
    for (const body of ['{"url":"https://example.com/"}', html(1_000_000)]) {
      const socket = open();
      let answer = '';
      socket.on('data', (bytes) => (answer += String(bytes)));
      socket.write(head(closing, bearer, expecting, `Content-Length: ${body.length}`));
      await until('to be asked for the body', () => answer === 'HTTP/1.1 100 Continue\r\n\r\n');
      socket.write(body);
      await until('the answer', () => answer.includes('HTTP/1.1 429'));
    }
  });
});

test('a compressed body is refused, and the message says why', async () => {
  const answer = await send('{"url":"https://example.com/"}', 'Content-Encoding: gzip');
  expect([statusOf(answer), messageOf(answer)]).toEqual([
    400,
    'the body must not be compressed, but has the Content-Encoding gzip: send it uncompressed',
  ]);
});

test('of two Authorization headers the first counts, for large and small bodies', async () => {
  lookUp = async () => key;
  for (const body of ['{"url":"https://example.com/"}', html(100_000)]) {
    expect(statusOf(await send(body, bearer, 'Authorization: nonsense'))).toBe(429);
    expect(statusOf(await send(body, 'Authorization: nonsense', bearer))).toBe(401);
  }
});
