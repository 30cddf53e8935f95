import { afterAll, beforeAll, beforeEach } from 'vitest';
import { adminToken, send, type Answer } from './accounts.ts';
import { startTestFront, type TestFront } from './test-front.ts';

type Options = Parameters<typeof send>[2];

/** Gives the tests of a file two fronts with an admin token, and requests of operators and account holders. */
export function useAccounts() {
  let testFront: TestFront;
  let other: string;
  const clock = { aheadMs: 0 };
  beforeAll(async () => {
    testFront = await startTestFront(
      { WEBCAPTURE_ADMIN_TOKEN: adminToken, WEBCAPTURE_DEFAULT_RATE_PER_MINUTE: '60' },
      { now: () => Date.now() + clock.aheadMs },
    );
    other = await testFront.addFront();
  });
  beforeEach(() => {
    clock.aheadMs = 0;
  });
  afterAll(() => testFront[Symbol.asyncDispose]());
  return {
    testFront: () => testFront,
    /** The URL of the other front. */
    other: () => other,
    /** The clock offset of the fronts; each test begins with 0. */
    clock,
    admin: (path: string, options?: Options) => send(`${testFront.url}/admin${path}`, adminToken, options),
    own: (key: string, path: string, options?: Options) => send(testFront.url + path, key, options),
    capture: (key: string, front = testFront.url) =>
      send(`${front}/capture`, key, { body: { url: 'https://example.com/' } }),
  };
}

export const codeOf = ({ status, body }: Answer) => [status, body.error?.code];
