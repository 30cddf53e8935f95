import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cases } from '../../fuzz/cases.ts';
import { fuzz, type Send, type Target } from '../../fuzz/fuzz.ts';
import { httpTargets } from '../../fuzz/http-targets.ts';
import { parserTargets } from '../../fuzz/parser-targets.ts';
import { sendToApp } from '../../fuzz/send.ts';
import { text } from '../../fuzz/values.ts';

let app: FastifyInstance;
let send: Send;
beforeAll(async () => {
  ({ app, send } = await sendToApp());
});
afterAll(() => app.close());

const targets: readonly Target[] = [...httpTargets, ...parserTargets];

/** The seed is the same in each run. `npm run fuzz` uses other ones. */
const seed = 20_261_122;
const count = 100;

test.each(targets.map((target) => [target.name, target] as const))(
  'the target %s handles any input',
  async (_name, target) => {
    expect(await fuzz(target, { send, isLocal: true, seed, count })).toEqual({ inputs: count, finding: null });
  },
);

describe('an earlier finding is fixed:', () => {
  test.each(cases.map((found) => [found.name, found] as const))('%s', async (_name, { target: name, input }) => {
    const target = targets.find((one) => one.name === name);
    const start = performance.now();
    await target?.check(input(), send);
    expect(target).toBeDefined();
    // The limit allows for a busy machine. Before the fixes, these inputs took seconds.
    expect(performance.now() - start).toBeLessThan(2000);
  });

  test('the finding of a failing target has a seed that reproduces it', async () => {
    const broken: Target = {
      name: 'broken',
      inputs: text,
      check: (input) => {
        if (String(input).includes('.')) throw new Error('a dot');
      },
    };
    const options = { send, isLocal: true, seed: 7, count: 200 };
    const { finding } = await fuzz(broken, options);
    expect(finding).toMatchObject({ target: 'broken', seed: 7, problem: expect.stringContaining('a dot') });
    expect((await fuzz(broken, options)).finding?.input).toBe(finding?.input);
  });
});
