import { expect, test } from 'vitest';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { extract } from '../../../services/renderer/page/extract.ts';
import type { OpenPage } from '../../../services/renderer/page/open.ts';

/** A page whose isolated world rejects every call with this error. */
const failing = (error: Error) => ({ world: { callInAny: () => Promise.reject(error) } }) as unknown as OpenPage;

test.each([new DeadlineError('extract', 8000), new DocumentGoneError('gone')])(
  'extract returns null if the page does not respond: %s',
  async (error) => {
    expect(await extract(failing(error), ['text'])).toBeNull();
  },
);

test('extract rethrows other errors', async () => {
  await expect(extract(failing(new TypeError('a mistake')), ['text'])).rejects.toThrow('a mistake');
});
