import { expect, test } from 'vitest';
import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';
import { finishDocument } from '../../../services/renderer/page/finish-document.ts';

const options = { metadata: { title: 'T' } } as PdfOptions;
const hello = Buffer.from('hello');

function finish(pdf: PdfOptions, timeoutMs = 60_000, signal = new AbortController().signal) {
  const deadline = new CaptureDeadline(timeoutMs, signal);
  return finishDocument(hello, pdf, { encryption: undefined, deadline });
}

test('without changes, the bytes remain as they are', async () => {
  expect(await finish({} as PdfOptions)).toBe(hello);
});

test('a file that the process cannot read is PAGE_TOO_LARGE', async () => {
  await expect(finish(options)).rejects.toMatchObject({
    code: 'PAGE_TOO_LARGE',
    message: expect.stringContaining('Send the request without them'),
  });
});

test('a document that takes too long is a time-out that the service causes, and lets the next one in', async () => {
  await expect(finish(options, 50)).rejects.toMatchObject({ code: 'CAPTURE_TIMEOUT', causedBy: 'service' });
  await expect(finish(options)).rejects.toMatchObject({ code: 'PAGE_TOO_LARGE' });
});

test('a cancelled capture does not wait for its turn', async () => {
  const cancel = new AbortController();
  const first = finish(options);
  const second = finish(options, 60_000, cancel.signal);
  cancel.abort(new Error('cancelled'));
  await expect(second).rejects.toMatchObject({ code: 'CAPTURE_FAILED' });
  await expect(first).rejects.toMatchObject({ code: 'PAGE_TOO_LARGE' });
});
