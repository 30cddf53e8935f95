import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { freePort } from '../../harness/free-port.ts';
import { AnswerCheck } from '../../harness/openapi.ts';
import { peak, type SeenRequest } from '../../harness/site/site.ts';
import { stripeColour } from '../../harness/site/pages/tall-pages.ts';
import { until } from '../../harness/until.ts';

describe('until', () => {
  test('gives what the check gives, when it gives something', async () => {
    let asked = 0;
    expect(await until('the third time', () => ++asked === 3 && 'there', { intervalMs: 1 })).toBe('there');
    expect(asked).toBe(3);
  });

  test('says what it waited for, and what went wrong last', async () => {
    const failing = until('a miracle', () => Promise.reject(new Error('no')), { deadlineMs: 30, intervalMs: 5 });
    await expect(failing).rejects.toThrow('a miracle');
    await expect(failing).rejects.toMatchObject({ cause: { message: 'no' } });
  });
});

test('free ports are free, and none is given twice', async () => {
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

test('the peak of requests counts those that were open together', () => {
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

test('neighbouring stripes differ, and so do stripes that lie a tile apart', () => {
  const colours = Array.from({ length: 256 }, (_, index) => stripeColour(index));
  expect(new Set(colours).size).toBe(256);
});

describe('answers against /openapi.json', () => {
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

  test('a right one has no problems', () => {
    expect(check.problems({ ...answer, body: { c: 1 } })).toEqual([]);
  });

  test.for([
    ['of a wrong shape', { ...answer, body: { c: 'one' } }, /\/c must be integer/],
    ['with a field missing', { ...answer, body: {} }, /required property 'c'/],
    ['of a status that is not described', { ...answer, status: 201, body: { c: 1 } }, /does not describe/],
    ['of a type that is not described', { ...answer, mediaType: 'text/plain', body: 'x' }, /no schema/],
  ] as const)('one %s has', ([, wrong, says]) => {
    expect(check.problems(wrong).join()).toMatch(says);
  });
});
