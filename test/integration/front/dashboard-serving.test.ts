import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtDashboard } from '../../../services/front/plugins/dashboard/routes.ts';
import { buildAppAlone } from './app-alone.ts';

let app: FastifyInstance;
/** Logged warnings and errors. */
const logged: string[] = [];
beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: (line) => void logged.push(line) });
  app = await buildAppAlone({ dashboardFolder: builtDashboard, log });
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers });

/** Returns the paths of the files that the page loads first. */
async function assetsOf(): Promise<string[]> {
  const { body } = await get('/dashboard/');
  return [...body.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => `/dashboard/${path}`);
}

test('the page is revalidated, its assets are immutable, and its policy blocks other sources', async () => {
  const page = await get('/dashboard/');
  expect(page.statusCode).toBe(200);
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' blob: data: https://cdn.test; connect-src 'self' https://cdn.test; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
  });
  const assets = (await assetsOf()).filter((path) => path.includes('/assets/'));
  expect(assets.map((path) => path.replace(/^.*\./, '')).toSorted()).toEqual(['css', 'js']);
  for (const path of assets) {
    const answer = await get(path, { 'accept-encoding': 'br' });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
      vary: 'accept-encoding',
    });
  }
});

test('/dashboard redirects to a relative URL, so that a proxy may add a path prefix', async () => {
  const { statusCode, headers } = await get('/dashboard');
  expect([statusCode, headers.location]).toEqual([302, 'dashboard/']);
});

test('a missing asset is not cached, since the next version may contain it', async () => {
  const { statusCode, headers } = await get('/dashboard/assets/index-of-another-version.js');
  expect([statusCode, String(headers['cache-control'])]).toEqual([404, expect.not.stringContaining('immutable')]);
});

test('paths without a file are not found, inside and outside the folder', async () => {
  for (const path of [
    '/dashboard/nothing.js',
    '/dashboard/assets/',
    '/dashboard/..%2f..%2fpackage.json',
    '/dashboard/%00',
  ]) {
    expect((await get(path)).statusCode, path).toBeGreaterThanOrEqual(400);
    expect((await get(path)).statusCode, path).toBeLessThan(500);
  }
  expect((await app.inject({ method: 'POST', url: '/dashboard/' })).statusCode).toBe(405);
});

test.each(['/dashboard/..%2f', '/dashboard/assets%2f..%2f..%2f', '/dashboard/..%5c'])(
  'a request for %s is answered with 404 and logs no error',
  async (path) => {
    const before = logged.length;
    expect((await get(path)).statusCode).toBe(404);
    expect(logged.slice(before)).toEqual([]);
  },
);

test('the first page loads at most 170 KB, without the module that shows PDFs', async () => {
  const paths = ['/dashboard/', ...(await assetsOf())];
  const files = await Promise.all(paths.map((path) => get(path, { 'accept-encoding': 'br' })));
  expect(files.map(({ statusCode }) => statusCode)).toEqual(files.map(() => 200));
  const bytes = files.reduce((sum, { rawPayload }) => sum + rawPayload.length, 0);
  expect(bytes).toBeLessThanOrEqual(170_000);
  const onDemand = (await readdir(join(builtDashboard, 'assets'))).filter((name) => /^pdf.*js$/.test(name));
  expect(onDemand).toHaveLength(2);
  for (const name of onDemand) {
    expect(paths).not.toContain(`/dashboard/assets/${name}`);
    const { statusCode, headers } = await get(`/dashboard/assets/${name}`, { 'accept-encoding': 'br' });
    expect([statusCode, headers['content-type'], headers['content-encoding']]).toEqual([
      200,
      'application/javascript; charset=utf-8',
      'br',
    ]);
  }
});

test('without a built dashboard, a page explains how to build it', async () => {
  await using empty = await buildAppAlone();
  const { statusCode, headers, body } = await empty.inject('/dashboard/');
  expect([statusCode, headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8']);
  expect(body).toContain('npm run dashboard');
});

describe('the code of a sign-in link', () => {
  let now = 0;
  const code = 'a-code-of-the-tests';
  const start = () => buildAppAlone({ signInCode: code, presetKey: 'the-key', now: () => now });
  const redeem = (to: FastifyInstance, given: string, remoteAddress = '127.0.0.1') =>
    to.inject({
      method: 'POST',
      url: '/dashboard/sign-in-code',
      payload: { code: given },
      remoteAddress,
      // A forwarded address must not count: only the connection's address does.
      headers: { 'x-forwarded-for': '127.0.0.1' },
    });

  test('works once, and a wrong code does not use it up', async () => {
    await using front = await start();
    expect((await redeem(front, 'another-code-of-the-tests')).statusCode).toBe(401);
    const answer = await redeem(front, code, '::ffff:127.0.0.1');
    expect(answer.json()).toMatchObject({ success: true, data: { key: 'the-key' } });
    expect(answer.headers['cache-control']).toBe('no-store');
    const again = await redeem(front, code);
    expect([again.statusCode, again.json().error.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(again.body).not.toContain('the-key');
  });

  test('works on the local machine only, for ten minutes', async () => {
    await using front = await start();
    for (const address of ['192.168.1.7', '203.0.113.9', '2001:db8::1']) {
      expect((await redeem(front, code, address)).statusCode).toBe(401);
    }
    now += 600_000;
    expect((await redeem(front, code)).statusCode).toBe(401);
  });

  test('is not accepted if none is configured, and must be a string', async () => {
    expect((await redeem(app, code)).statusCode).toBe(405);
    await using front = await start();
    const answer = await front.inject({ method: 'POST', url: '/dashboard/sign-in-code', payload: { code: 5 } });
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  test('comes in a body of at most 1 KiB, since the route needs no key', async () => {
    await using front = await start();
    const answer = await redeem(front, 'x'.repeat(1024));
    expect([answer.statusCode, answer.json().error.message]).toEqual([400, 'the body is larger than 1024 bytes']);
  });
});
