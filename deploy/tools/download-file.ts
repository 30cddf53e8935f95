import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** Expected hash of a file in hex, with the algorithm that its publisher uses. */
export type Checksum = { readonly sha256: string } | { readonly sha512: string };

export interface DownloadOptions {
  readonly checksum: Checksum;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
  /** Timeout for the start of the response. */
  readonly connectMs?: number;
  readonly totalMs?: number;
}

const progressEveryMs = 3000;

/** Downloads one file. Throws an Error if the download fails or the checksum differs. */
export async function downloadFile(url: string, path: string, options: DownloadOptions): Promise<void> {
  const { connectMs = 20_000, totalMs = 180_000, log, signal } = options;
  const connecting = new AbortController();
  const slow = setTimeout(() => connecting.abort(new Error(`no answer within ${connectMs / 1000} s`)), connectMs);
  const total = AbortSignal.timeout(totalMs);
  const { host } = new URL(url);
  log(`downloading ${url}`);
  try {
    const response = await fetch(url, { signal: AbortSignal.any([connecting.signal, total, signal]) });
    clearTimeout(slow);
    if (!response.ok || response.body === null) throw new Error(`it answered with status ${response.status}`);
    const { algorithm, name, wanted } = pinOf(options.checksum);
    const hash = createHash(algorithm);
    const size = Number(response.headers.get('content-length'));
    const { body } = response;
    await pipeline(async function* () {
      let received = 0;
      let said = performance.now();
      for await (const chunk of body) {
        hash.update(chunk);
        received += chunk.length;
        yield chunk;
        if (performance.now() - said < progressEveryMs) continue;
        said = performance.now();
        log(`downloaded ${megabytes(received)}${size > 0 ? ` of ${megabytes(size)}` : ''}`);
      }
    }, createWriteStream(path));
    const sum = hash.digest('hex');
    if (sum !== wanted) throw new Error(`its file has the ${name} ${sum}, not the pinned ${wanted}`);
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`${host}: ${total.aborted ? `not done within ${totalMs / 1000} s` : reasonOf(error)}`, {
      cause: error,
    });
  } finally {
    clearTimeout(slow);
  }
}

function pinOf(checksum: Checksum) {
  return 'sha512' in checksum
    ? { algorithm: 'sha512', name: 'SHA-512', wanted: checksum.sha512 }
    : { algorithm: 'sha256', name: 'SHA-256', wanted: checksum.sha256 };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The error of fetch says only "fetch failed"; its cause contains the reason.
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
