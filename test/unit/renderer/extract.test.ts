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
    expect(await extract(failing(error), { extract: ['text'] })).toBeNull();
  },
);

test('extract names a field whose selector the browser does not support', async () => {
  const answered = { world: { callInAny: async () => ({ refused: ['a', 'fields', 'b'] }) } } as unknown as OpenPage;
  await expect(extract(answered, { extractFields: { a: 'p' } })).rejects.toMatchObject({
    code: 'CAPTURE_FAILED',
    causedBy: 'client',
    message: 'The selector of extractFields.a.fields.b is not a selector that the browser supports.',
  });
});

test('extract rethrows other errors', async () => {
  await expect(extract(failing(new TypeError('a mistake')), { extract: ['text'] })).rejects.toThrow('a mistake');
});
