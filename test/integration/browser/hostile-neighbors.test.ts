// @module-tag long
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestEngine } from '../../harness/engine.ts';
import { hostileNeighbors } from '../../harness/hostile-neighbors.ts';

let engine: TestEngine;

/** Timeout of the hostile pages. Concurrent captures end before it. */
const timeoutMs = 30_000;

const capture = () => engine.render({ kind: 'html', html: '<p>hello' }, {}, { deadlineMs: 0.8 * timeoutMs });

beforeAll(async () => {
  engine = await TestEngine.start({ slots: 2 });
  for (let count = 0; count < 3; count += 1) await capture();
});

afterAll(() => engine.close());

test.for(hostileNeighbors.map(({ name, html }) => [name, html] as const))(
  'captures concurrent with a page with %s succeed, and do not wait for its end',
  async ([, html]) => {
    const stop = new AbortController();
    const hostile = engine.render({ kind: 'html', html }, { timeout: timeoutMs }, { signal: stop.signal }).then(
      () => 'completed',
      ({ code }: { code: string }) => code,
    );
    // By now the hostile page has started its work.
    await delay(300);
    // `npm run bench -- neighbors` measures how much longer they take.
    await capture();
    stop.abort(new Error('it was enough'));
    // The hostile page must not end with its browser, as its capture would then be tried again in another one.
    expect(['completed', 'CAPTURE_FAILED', 'CAPTURE_TIMEOUT', 'NAVIGATION_FAILED']).toContain(await hostile);
  },
);
