// A program of a user: package.test.ts runs it in a separate project with the published package.
import { type Capture, signLink, ValidationError, Webcapture, type WebhookEvent } from '@webcapture/client';

// An empty project has no types of Node.js.
declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [url = '', apiKey = ''] = process.argv.slice(2);
const client = new Webcapture({ url, apiKey });

/** The status distinguishes the states of a capture. */
function describe(capture: Capture): string {
  switch (capture.status) {
    case 'failed':
      return capture.error.code;
    case 'queued':
    case 'rendering':
      return `accepted at ${capture.acceptedAt}`;
    default:
      return `${capture.status} ${capture.metadata.format}`;
  }
}

/** The type of an event distinguishes the states of its capture. */
function inWords(event: WebhookEvent): string {
  if (event.type === 'capture.completed') return `${event.data.fileUrl} ${event.data.metadata.format}`;
  if (event.type === 'capture.refreshed') return event.data.fileUrl;
  return event.data.status === 'failed' ? event.data.error.code : event.data.status;
}

const { uuid } = await client.capture({ url: 'https://example.com/', format: 'webp' });
// @ts-expect-error: there is no such format
const refused: unknown = await client.capture({ url: 'https://example.com/', format: 'gif' }).catch((error) => error);
const isRefused = refused instanceof ValidationError && refused.code === 'VALIDATION_ERROR';
const { fileUrl } = await client.waitFor(uuid);
const ended = await client.waitFor(uuid);
const size: number | undefined = ended.fileUrl === undefined ? undefined : ended.metadata.width;
const signer = { keyId: uuid, secret: 'wcs_a', expires: 1_795_348_800 };
const link = await signLink(url, { url: 'https://example.com/', format: 'webp' }, signer);
// @ts-expect-error: a link would show it
void signLink(url, { url: 'https://example.com/', headers: { a: 'b' } }, signer);
const event: WebhookEvent = {
  type: 'capture.completed',
  timestamp: '',
  data: await client.capture({ url: 'https://example.com/' }),
};
process.stdout.write(
  JSON.stringify([
    describe(await client.getCapture(uuid)),
    isRefused,
    fileUrl?.startsWith('https://'),
    size,
    link.startsWith(`${url}/capture?`),
    inWords(event).endsWith(' png'),
  ]),
);
