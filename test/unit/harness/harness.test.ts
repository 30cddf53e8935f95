import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { freePort } from '../../harness/free-port.ts';
import { AnswerCheck } from '../../harness/openapi.ts';
import { peak, type SeenRequest } from '../../harness/site/site.ts';
import { stripeColor } from '../../harness/site/pages/tall-pages.ts';
import { until } from '../../harness/until.ts';

describe('until', () => {
  test('returns the first truthy result of the check', async () => {
    let asked = 0;
    expect(await until('the third time', () => ++asked === 3 && 'there', { intervalMs: 1 })).toBe('there');
    expect(asked).toBe(3);
  });

  test('throws with its description and the last error of the check', async () => {
    const failing = until('a miracle', () => Promise.reject(new Error('no')), { deadlineMs: 30, intervalMs: 5 });
    await expect(failing).rejects.toThrow('a miracle');
    await expect(failing).rejects.toMatchObject({ cause: { message: 'no' } });
  });
});

test('freePort returns ports that are free and unique', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  expect(new Set(ports).size).toBe(20);
  for (const port of ports) {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
});

test('peak counts the requests that were open at the same time', () => {
  const request = (at: number, closedAt: number | undefined): SeenRequest => ({
    method: 'GET',
    path: '/',
    query: new URLSearchParams(),
    headers: {},
    at,
    closedAt,
  });
  expect(peak([])).toBe(0);
  expect(peak([request(0, 10), request(10, 20)])).toBe(1);
  expect(peak([request(0, 10), request(5, 20), request(9, undefined), request(15, 16)])).toBe(3);
});

test('each stripe has a different color', () => {
  const colors = Array.from({ length: 256 }, (_, index) => stripeColor(index));
  expect(new Set(colors).size).toBe(256);
});

describe('AnswerCheck, which compares responses with /openapi.json,', () => {
  const check = new AnswerCheck({
    openapi: '3.1.0',
    paths: {
      '/a/{b}': {
        get: {
          responses: {
            200: {
              content: {
                'application/json': {
                  schema: { type: 'object', required: ['c'], properties: { c: { type: 'integer' } } },
                },
              },
            },
          },
        },
      },
    },
  });
  const answer = { path: '/a/{b}', method: 'GET', status: 200, mediaType: 'application/json' };

  test('reports no problem for a valid response', () => {
    expect(check.problems({ ...answer, body: { c: 1 } })).toEqual([]);
  });

  test.for([
    ['with a wrong type', { ...answer, body: { c: 'one' } }, /\/c must be integer/],
    ['with a missing field', { ...answer, body: {} }, /required property 'c'/],
    ['with an undocumented status', { ...answer, status: 201, body: { c: 1 } }, /does not describe/],
    ['with an undocumented media type', { ...answer, mediaType: 'text/plain', body: 'x' }, /no schema/],
  ] as const)('reports a response %s', ([, wrong, says]) => {
    expect(check.problems(wrong).join()).toMatch(says);
  });
});
