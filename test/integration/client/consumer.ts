// A program of a user: package.test.ts runs it in a separate project with the published package.
import { type Capture, ValidationError, Webcapture } from '@webcapture/client';

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

const { uuid } = await client.capture({ url: 'https://example.com/', format: 'webp' });
// @ts-expect-error: there is no such format
const refused: unknown = await client.capture({ url: 'https://example.com/', format: 'gif' }).catch((error) => error);
const isRefused = refused instanceof ValidationError && refused.code === 'VALIDATION_ERROR';
process.stdout.write(JSON.stringify([describe(await client.getCapture(uuid)), isRefused]));
