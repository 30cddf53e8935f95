import { expect, test } from 'vitest';
import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';
import { finishDocument } from '../../../services/renderer/page/finish-document.ts';
import { descendantsOf } from '../../harness/processes.ts';
import { until } from '../../harness/until.ts';

const options = { metadata: { title: 'T' } } as PdfOptions;
const hello = Buffer.from('hello');

/** A document that takes seconds of processor time before the process runs out of memory. */
const large = Buffer.from(`%PDF-1.4\n1 0 obj\n[${'<<>>'.repeat(4_000_000)}]\nendobj\n`);

const writers = async () =>
  (await descendantsOf(process.pid)).filter(({ command }) => command.includes('document-process.ts'));

function finish(pdf: PdfOptions, timeoutMs = 60_000, { bytes = hello, signal = new AbortController().signal } = {}) {
  const deadline = new CaptureDeadline(timeoutMs, signal);
  // The service sets this cause while it captures a page.
  deadline.causedBy = 'page';
  return finishDocument(bytes, pdf, { encryption: undefined, deadline });
}

test('a document is returned unchanged if no option changes it', async () => {
  expect(await finish({} as PdfOptions)).toBe(hello);
});

test('a file that the process cannot read fails with PAGE_TOO_LARGE', async () => {
  await expect(finish(options)).rejects.toMatchObject({
    code: 'PAGE_TOO_LARGE',
    message: expect.stringContaining('Send the request without them'),
  });
});

test('a document that takes too long times out, with the service as the cause, and its process ends', async () => {
  const timedOut = finish(options, 1500, { bytes: large });
  timedOut.catch(() => undefined);
  await until('the process', async () => (await writers()).length === 1);
  await expect(timedOut).rejects.toMatchObject({ code: 'CAPTURE_TIMEOUT', causedBy: 'service' });
  await until('its end', async () => (await writers()).length === 0, { deadlineMs: 1500 });
  await expect(finish(options)).rejects.toMatchObject({ code: 'PAGE_TOO_LARGE' });
});

test('a cancelled capture fails while it waits for the one before it', async () => {
  const cancel = new AbortController();
  const first = finish(options);
  const second = finish(options, 60_000, { signal: cancel.signal });
  cancel.abort(new Error('cancelled'));
  await expect(second).rejects.toMatchObject({ code: 'CAPTURE_FAILED' });
  await expect(first).rejects.toMatchObject({ code: 'PAGE_TOO_LARGE' });
});
