import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildAppAlone } from './app-alone.ts';

let app: FastifyInstance;
beforeAll(async () => {
  app = await buildAppAlone();
});
afterAll(() => app.close());

describe('unknown routes', () => {
  test.each([
    ['GET', '/nothing?x=1'],
    ['PUT', '/nothing'],
    ['PUT', '/admin/accounts'],
    ['GET', '/captures/%zz'],
    ['GET', '/files'],
    ['GET', '/../../etc/passwd'],
  ] as const)('%s %s is a 404', async (method, path) => {
    const response = await app.inject({ method, url: path });
    expect(response.statusCode).toBe(404);
    expect(response.json()).toMatchObject({ success: false, data: null, error: { code: 'NOT_FOUND' } });
    expect(response.headers['x-request-id']).toMatch(/^[\w-]{36}$/);
  });

  test.each([
    ['GET', '/webhooks/secret/rotate', 'POST'],
    ['HEAD', '/webhooks/secret/rotate', 'POST'],
    ['PUT', '/capture', 'GET, HEAD, POST'],
    ['OPTIONS', '/capture/', 'GET, HEAD, POST'],
    ['DELETE', '/status', 'GET, HEAD'],
    ['POST', '/captures/x', 'DELETE, GET, HEAD'],
    ['POST', '/files/x', 'GET, HEAD'],
    ['PATCH', '/openapi.json', 'GET, HEAD'],
  ] as const)('%s %s is a 405 that allows %s', async (method, path, allowed) => {
    const payload = method === 'PUT' || method === 'POST' ? { payload: 'no JSON' } : {};
    const response = await app.inject({ method, url: path, ...payload });
    expect(response.statusCode).toBe(405);
    expect(response.headers.allow?.toString().split(', ').toSorted().join(', ')).toBe(allowed);
    if (method !== 'HEAD') {
      expect(response.json()).toMatchObject({ success: false, data: null, error: { code: 'NOT_FOUND' } });
    }
    expect(response.headers['x-request-id']).toMatch(/^[\w-]{36}$/);
  });

  test('HEAD of an unknown path has no body', async () => {
    const response = await app.inject({ method: 'HEAD', url: '/nothing' });
    expect([response.statusCode, response.body]).toEqual([404, '']);
  });

  test('a trailing slash makes no difference', async () => {
    const response = await app.inject({ method: 'POST', url: '/capture/', payload: { url: 'https://example.com/' } });
    expect(response.statusCode).toBe(401);
  });
});
