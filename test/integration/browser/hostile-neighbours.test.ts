// @module-tag long
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestEngine } from '../../harness/engine.ts';
import { hostileNeighbours } from '../../harness/hostile-neighbours.ts';

let engine: TestEngine;

/** Of the hostile pages; captures beside them end before it. */
const timeoutMs = 30_000;

const capture = () => engine.render({ kind: 'html', html: '<p>hello' }, {}, { deadlineMs: 0.8 * timeoutMs });

beforeAll(async () => {
  engine = await TestEngine.start({ slots: 2 });
  for (let count = 0; count < 3; count += 1) await capture();
});

afterAll(() => engine.close());

test.for(hostileNeighbours.map(({ name, html }) => [name, html] as const))(
  'captures beside a page with %s succeed, and do not wait for its end',
  async ([, html]) => {
    const stop = new AbortController();
    const hostile = engine.render({ kind: 'html', html }, { timeout: timeoutMs }, { signal: stop.signal }).then(
      () => 'completed',
      ({ code }: { code: string }) => code,
    );
    // It has begun, and done some of what it does.
    await delay(300);
    // How much longer they take is measured by `npm run bench -- neighbours`.
    await capture();
    stop.abort(new Error('it was enough'));
    // It ends by itself, by name, or by us: never with its browser, which would have it tried again elsewhere.
    expect(['completed', 'CAPTURE_FAILED', 'CAPTURE_TIMEOUT', 'NAVIGATION_FAILED']).toContain(await hostile);
  },
);
