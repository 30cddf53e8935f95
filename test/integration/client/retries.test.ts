import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import {
  CaptureFailedError,
  NetworkError,
  QuotaExceededError,
  RateLimitError,
  RequestTimeoutError,
  ServiceUnavailableError,
  Webcapture,
  type WebcaptureOptions,
} from '@webcapture/client';
import { failure, success } from '@webcapture/shared/api/envelope.ts';
import { type ErrorCode, errorCodes, errorTable } from '@webcapture/shared/runtime/errors.ts';
import { errorOfResponse } from '../../../services/client/errors.ts';

type Answer = (response: ServerResponse) => void;

interface Seen {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}

const closers: (() => void)[] = [];
afterAll(() => closers.splice(0).forEach((close) => close()));

/** A client of a server with these responses in order. The last one is repeated. */
async function clientOf(answers: readonly Answer[], options: Partial<WebcaptureOptions> = {}) {
  const seen: Seen[] = [];
  const answerNext = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const answer = answers[Math.min(seen.length, answers.length - 1)];
    seen.push({ headers: request.headers, body, at: performance.now() });
    answer?.(response);
  };
  const server = createServer((request, response) => void answerNext(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return { client: new Webcapture({ url, apiKey: 'key', ...options }), url, seen };
}

const jsonType = { 'content-type': 'application/json' };
const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const done = json(200, success({ uuid: 'a' }));
const fails = (code: ErrorCode, headers: Record<string, string> = {}) =>
  json(errorTable[code].status, failure(code), headers);
const reset: Answer = (response) => response.socket?.resetAndDestroy();
const cut: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"success":');
  setTimeout(() => response.socket?.resetAndDestroy(), 20);
};
const badGateway: Answer = (response) =>
  response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
const never: Answer = () => undefined;

const page = { url: 'https://example.com/' };
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no error',
    (error: unknown) => error,
  );

test('the error table defines which codes can be retried', () => {
  const told = errorCodes.map((code) => {
    const { status } = errorTable[code];
    return [code, errorOfResponse(new Response(null, { status }), failure(code)).retryable];
  });
  expect(Object.fromEntries(told)).toEqual(
    Object.fromEntries(errorCodes.map((code) => [code, errorTable[code].retryable])),
  );
});

test.concurrent.each([
  ['a connection that is reset', reset],
  ['an answer that ends early', cut],
  ['an internal error', fails('INTERNAL_ERROR')],
  ['a proxy that does not reach the service', badGateway],
])('a capture is retried with the same Idempotency-Key after %s', async (_, answer) => {
  const { client, seen } = await clientOf([answer, done]);
  expect(await client.capture(page)).toEqual({ uuid: 'a' });
  const keys = seen.map(({ headers }) => headers['idempotency-key']);
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]]);
  expect(JSON.parse(seen[1]?.body ?? '')).toEqual({ ...page, responseType: 'json' });
  await client.capture(page);
  expect(seen[2]?.headers['idempotency-key']).not.toBe(keys[0]);
});

test.concurrent('retries end at maxRetries, with the error of the last attempt', async () => {
  const { client, seen } = await clientOf([fails('QUEUE_FULL', { 'retry-after': '0' }), fails('NAVIGATION_FAILED')], {
    maxRetries: 1,
  });
  const error = await failureOf(client.capture(page));
  expect(error).toBeInstanceOf(CaptureFailedError);
  expect(error).toMatchObject({ code: 'NAVIGATION_FAILED', status: 500, retryable: true });
  expect(seen).toHaveLength(2);
});

describe('Retry-After', () => {
  test.concurrent('is waited for, even by a POST that is otherwise not retried', async () => {
    const { client, seen } = await clientOf([fails('RATE_LIMIT_EXCEEDED', { 'retry-after': '1' }), done]);
    await client.createKey({ name: 'a' });
    expect((seen[1]?.at ?? 0) - (seen[0]?.at ?? 0)).toBeGreaterThanOrEqual(990);
  });

  test.concurrent('of more than two minutes is not waited for', async () => {
    const { client, seen } = await clientOf([fails('RATE_LIMIT_EXCEEDED', { 'retry-after': '121' })]);
    const error = await failureOf(client.capture(page));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ retryAfterMs: 121_000 });
    expect(seen).toHaveLength(1);
  });
});

test.concurrent.each([
  ['what cannot help', fails('QUOTA_EXCEEDED'), QuotaExceededError],
  ['what an answer of 500 says is final', fails('PAGE_TOO_LARGE'), CaptureFailedError],
])('%s is not retried', async (_, answer, Class) => {
  const { client, seen } = await clientOf([answer]);
  expect(await failureOf(client.capture(page))).toBeInstanceOf(Class);
  expect(seen).toHaveLength(1);
});

test.concurrent.each([
  ['no answer came', reset, NetworkError],
  ['it may have been done', fails('INTERNAL_ERROR'), ServiceUnavailableError],
])('a request with side effects is not retried if %s', async (_, answer, Class) => {
  const { client, seen } = await clientOf([answer]);
  expect(await failureOf(client.createKey({ name: 'a' }))).toBeInstanceOf(Class);
  expect(seen).toHaveLength(1);
});

test.concurrent('a signal also ends the pause between attempts', async () => {
  const { client, seen } = await clientOf([fails('QUEUE_FULL', { 'retry-after': '100' })]);
  const stop = new AbortController();
  const call = failureOf(client.capture(page, { signal: stop.signal }));
  await expect.poll(() => seen.length).toBe(1);
  stop.abort(new Error('enough'));
  expect(await call).toEqual(new Error('enough'));
});

test.concurrent('an attempt without a response times out, and is not retried', async () => {
  const { client, seen } = await clientOf([never], { timeoutMs: 100 });
  const error = await failureOf(client.capture(page));
  expect(error).toBeInstanceOf(RequestTimeoutError);
  expect(error).toMatchObject({ code: 'TIMEOUT', status: null });
  // The server sees no request if it was slower than the timeout.
  expect(seen.length).toBeLessThan(2);
});

test.concurrent('the timeout of an attempt includes the body of an error, also for files', async () => {
  const stalled: Answer = (response) => response.writeHead(404, { 'content-type': 'text/html' }).write('<h1>');
  const { client, url } = await clientOf([stalled], { timeoutMs: 200 });
  const told = { code: 'TIMEOUT', status: null };
  expect(await failureOf(client.getUsage())).toMatchObject(told);
  expect(await failureOf(client.file(`${url}/file`))).toMatchObject(told);
  const broken: Answer = (response) => {
    response.writeHead(404, { 'content-type': 'text/html', 'content-length': '100' });
    response.write('<h1>', () => response.socket?.resetAndDestroy());
  };
  const other = await clientOf([broken], { maxRetries: 0 });
  expect(await failureOf(other.client.file(`${other.url}/file`))).toMatchObject({
    code: 'NETWORK_ERROR',
    status: null,
  });
});

test.concurrent('waiting for a capture times out', async () => {
  const { client } = await clientOf([json(200, success({ uuid: 'a', status: 'queued' }))]);
  const error = await failureOf(client.waitFor('a', { timeoutMs: 100 }));
  expect(error).toBeInstanceOf(RequestTimeoutError);
  expect(error).toMatchObject({ captureUuid: 'a' });
});

test.concurrent('a failed background capture is an error with its code', async () => {
  const error = { code: 'CAPTURE_TIMEOUT', message: 'too slow' };
  const { client } = await clientOf([json(200, success({ uuid: 'a', status: 'failed', error }))]);
  const thrown = await failureOf(client.waitFor('a'));
  expect(thrown).toBeInstanceOf(CaptureFailedError);
  expect(thrown).toMatchObject({ ...error, captureUuid: 'a', status: null });
});

test.concurrent('a status with an outage is returned, not thrown', async () => {
  const status = { status: 'major_outage', lastCheckedAt: '2025-01-01T00:00:00Z' };
  const { client, seen } = await clientOf([json(503, status)]);
  expect(await client.getStatus()).toEqual(status);
  expect(seen).toHaveLength(1);
});

test.concurrent.each([
  ['a page that is not found', 404, (response: ServerResponse) => response.writeHead(404).end('no')],
  ['a page', 200, (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
  [
    'a text',
    200,
    (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/plain' }).end('Welcome'),
  ],
  ['JSON that is none', 200, (response: ServerResponse) => response.writeHead(200, jsonType).end('{"data":')],
  ['JSON of something else', 200, json(200, { hello: 'world' })],
])('%s is not accepted as a response of webcapture', async (_, status, answer) => {
  const { client } = await clientOf([answer]);
  const told = { code: 'UNEXPECTED_RESPONSE', status };
  expect(await failureOf(client.getUsage())).toMatchObject(told);
  expect(await failureOf(client.getStatus())).toMatchObject(told);
  expect(await failureOf(client.captureFile(page))).toMatchObject(told);
});

test('an invalid address or key is refused at once', () => {
  expect(() => new Webcapture({ url: 'capture.example.com' })).toThrow(/^url must be the http or https address/);
  expect(() => new Webcapture({ url: 'https://example.com', apiKey: 'secret\n' })).toThrow(
    /^apiKey must contain only visible/,
  );
});
