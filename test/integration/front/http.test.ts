import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { maxBodyBytes } from '../../../services/front/api/capture-body.ts';
import { buildAppAlone } from './app-alone.ts';

let app: Awaited<ReturnType<typeof buildAppAlone>>;
let url: string;
beforeEach(async () => {
  app = await buildAppAlone();
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(() => app.close());

/** Sends raw bytes; returns the answer when the server closes the connection. */
function raw(request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(request);
  return text(socket);
}

describe('invalid HTTP is answered with the JSON envelope', () => {
  test.each([
    ['nonsense', 'nonsense\r\n\r\n'],
    ['an unknown method', 'BREW /capture HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`],
  ])('%s', async (_name, request) => {
    const answer = await raw(request);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });
});

test.each([
  ['a body that says it is too long', String(maxBodyBytes + 1)],
  ['a body of unknown length that is too long', undefined],
])('%s is refused, and the client can read why', async (_name, length) => {
  const body = Buffer.alloc(maxBodyBytes + 2_000_000, ' ');
  await using keyed = await buildAppAlone({ key: { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 } });
  const response = await fetch(`${await keyed.listen({ host: '127.0.0.1', port: 0 })}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
    ...(length === undefined ? { body: new Blob([body]).stream(), duplex: 'half' } : { body }),
  } as RequestInit);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: 'the body is larger than 8 MiB' } });
});

test('a route without html takes bodies up to 16 KiB', async () => {
  await using keyed = await buildAppAlone({ key: { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 } });
  const messageFor = async (length: number) => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer x' };
    const body = ' '.repeat(length);
    const answer = await keyed.inject({ method: 'POST', url: '/keys', headers, body });
    return answer.json<{ error: { message: string } }>().error.message;
  };
  expect(await messageFor(16 * 1024)).toContain('not valid JSON');
  expect(await messageFor(16 * 1024 + 1)).toBe('the body is larger than 16384 bytes');
});

test('a client that reads only after sending its whole refused body can read why', async () => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const length = maxBodyBytes + 2_000_000;
  socket.write(
    `POST /capture HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  );
  for (let sent = 0; sent < length; sent += 500_000) {
    const chunk = Buffer.alloc(Math.min(500_000, length - sent), ' ');
    await new Promise<void>((resolve, reject) => {
      socket.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
    await sleep(20);
  }
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
});

describe('the request id', () => {
  test('is new for every request, and ignores the header of the client', async () => {
    const ask = () => fetch(`${url}/nothing`, { headers: { 'x-request-id': 'mine' } });
    const [first, second] = await Promise.all([ask(), ask()]);
    const ids = [first, second].map(({ headers }) => headers.get('x-request-id'));
    expect(new Set([...ids, 'mine']).size).toBe(3);
  });

  test('is taken from a trusted proxy if it is harmless', async () => {
    const trusting = await buildAppAlone({ trustProxy: true });
    const ask = async (id: string) =>
      (await trusting.inject({ url: '/nothing', headers: { 'x-request-id': id } })).headers['x-request-id'];
    expect(await ask('abc-123')).toBe('abc-123');
    expect(await ask('a b"c')).not.toBe('a b"c');
  });
});

test('a full queue is a 429 with Retry-After', async () => {
  const full = await buildAppAlone({
    key: { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 },
    dispatch: () => Promise.reject(new ServiceError('QUEUE_FULL', undefined, { causedBy: 'service' })),
  });
  const response = await full.inject({
    method: 'POST',
    url: '/capture',
    headers: { authorization: 'Bearer token' },
    payload: { url: 'https://example.com/' },
  });
  expect(response.statusCode).toBe(429);
  expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
  expect(response.json()).toMatchObject({ success: false, error: { code: 'QUEUE_FULL' }, data: null });
});

test('an unexpected error returns the request id and no details', async () => {
  const response = await app.inject('/status');
  expect(response.statusCode).toBe(500);
  const { error } = response.json<{ error: { code: string; message: string } }>();
  expect(error.code).toBe('INTERNAL_ERROR');
  expect(error.message).toContain(String(response.headers['x-request-id']));
  expect(error.message).not.toContain('further');
});

describe('the API docs', () => {
  test('load only their own files', async () => {
    const page = await app.inject('/docs');
    expect(page.statusCode).toBe(200);
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      expect(asset).toMatch(/^\/docs\/static\//);
      expect((await app.inject(asset)).statusCode).toBe(200);
    }
    // The policy would block inline scripts.
    expect(page.body).not.toMatch(/<script(?![^>]*\ssrc=)/);
  });

  test('are the target of a redirect from /', async () => {
    const response = await app.inject('/');
    expect([response.statusCode, response.headers.location]).toEqual([302, 'docs']);
  });
});

test('closing closes idle connections and accepts no new ones', async () => {
  const agent = new Agent({ keepAlive: true });
  const get = () =>
    new Promise<number>((resolve, reject) => {
      httpRequest(`${url}/nothing`, { agent }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      })
        .once('error', reject)
        .end();
    });
  expect(await get()).toBe(404);
  const start = performance.now();
  await app.close();
  // Without a close, an idle connection stays open for longer.
  expect(performance.now() - start).toBeLessThan(3000);
  await expect(get()).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
  agent.destroy();
});
