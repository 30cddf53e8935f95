// @module-tag long
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestEngine } from '../../harness/engine.ts';
import { fastest, timeOf } from '../../harness/fastest.ts';
import { hostileNeighbours } from '../../harness/hostile-neighbours.ts';

let engine: TestEngine;

const capture = () => engine.render({ kind: 'html', html: '<p>hello' }, {}, { deadlineMs: 20_000 });

beforeAll(async () => {
  engine = await TestEngine.start({ slots: 2 });
  for (let count = 0; count < 3; count += 1) await capture();
});

afterAll(() => engine.close());

test.for(hostileNeighbours.map(({ name, html }) => [name, html] as const))(
  'captures beside a page with %s succeed, and take hardly longer',
  async ([, html]) => {
    // Once is enough: with little time, the two seconds below make up most of the limit.
    const quietMs = await timeOf(capture);
    const stop = new AbortController();
    const hostile = engine.render({ kind: 'html', html }, { timeout: 10_000 }, { signal: stop.signal }).then(
      () => 'completed',
      ({ code }: { code: string }) => code,
    );
    // It has begun, and done some of what it does.
    await delay(300);
    // The goal is twice the quiet time, which `npm run bench -- neighbours` measures. Here, other tests run beside it: what is
    // told is that nothing waits for the end of the hostile page.
    const limitMs = 2 * quietMs + 2000;
    expect(await fastest(limitMs, () => timeOf(capture))).toBeLessThan(limitMs);
    stop.abort(new Error('it was enough'));
    // It ends by itself, by name, or by us: never with its browser, which would have it tried again elsewhere.
    expect(['completed', 'CAPTURE_FAILED', 'CAPTURE_TIMEOUT', 'NAVIGATION_FAILED']).toContain(await hostile);
  },
);
