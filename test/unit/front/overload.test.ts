import fastify from 'fastify';
import { expect, test } from 'vitest';
import { Overload, shedLoad } from '../../../services/front/http/load-shedding.ts';
import { until } from '../../harness/until.ts';

test.each<[string, number[], boolean]>([
  ['no sample', [], false],
  ['one pause', [60_000], false],
  ['four late samples', [1001, 1500, Infinity, 9000], false],
  ['five late samples', [1001, 1001, 1001, 1001, 1001], true],
  ['a good sample between late ones', [1001, 1001, 1001, 1000, 1001, 1001, 1001], false],
  ['a good sample after late ones', [5000, 5000, 5000, 5000, 5000, 5000, 10], false],
])('overload is detected or not after %s', (_name, samples, present) => {
  const overload = new Overload();
  for (const sample of samples) overload.sample(sample);
  expect(overload.present).toBe(present);
});

test('overload is lasting after twice the number of late samples', () => {
  const overload = new Overload();
  for (let samples = 0; samples < 9; samples++) overload.sample(2000);
  expect([overload.present, overload.lasting]).toEqual([true, false]);
  overload.sample(2000);
  expect(overload.lasting).toBe(true);
  overload.sample(10);
  expect([overload.present, overload.lasting]).toEqual([false, false]);
});

test('while the event loop is blocked, requests without a valid key are refused', { tags: 'long' }, async () => {
  await using app = fastify();
  await shedLoad(app, async ({ headers }) => headers.authorization !== undefined);
  app.get('/capture', { config: { shedsLoad: true } }, async () => 'done');
  app.get('/status', async () => 'done');
  const bodyOf = async (url: string, headers = {}) => (await app.inject({ url, headers })).body;
  const blocking = setInterval(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200), 1);
  try {
    await until('a refusal', async () => (await bodyOf('/capture')).includes('overloaded'));
  } finally {
    clearInterval(blocking);
  }
  expect(await bodyOf('/capture', { authorization: 'x' })).toBe('done');
  expect(await bodyOf('/status')).toBe('done');
  await until('it to end', async () => (await bodyOf('/capture')) === 'done');
});
