import { afterEach } from 'vitest';

/** Returns a function that registers things to close. They are closed after the test, in reverse order. Call it once in a test file. */
export function closingAfterEach() {
  const cleanUps: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  });
  return async <T extends { close(): Promise<void> }>(started: Promise<T>): Promise<T> => {
    const it = await started;
    cleanUps.push(() => it.close());
    return it;
  };
}
