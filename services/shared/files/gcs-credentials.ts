import type { Bucket, Storage } from '@google-cloud/storage';
import { DeadlineError, withDeadline } from '../runtime/deadline.ts';

/** Credentials are missing, or no token can be obtained for them. */
export class CredentialsError extends Error {
  /** Whether the problem may be temporary. */
  readonly transient: boolean;

  constructor(message: string, transient: boolean, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CredentialsError';
    this.transient = transient;
  }
}

/** A metadata server answers in milliseconds, a token endpoint in a second. */
const defaultTokenMs = 8000;

/**
 * Google's library with the credentials that it finds: the key file in GOOGLE_APPLICATION_CREDENTIALS, those of gcloud,
 * or the metadata server (Workload Identity).
 */
export class Credentials {
  readonly isAnonymous: boolean;
  readonly #open: () => Bucket;
  readonly #tokenMs: number;
  #bucket: Bucket;
  #token: string | null | undefined;

  /** @param tokenMs timeout of getting a token */
  constructor(open: () => Storage, bucket: string, tokenMs = defaultTokenMs) {
    this.#open = () => open().bucket(bucket);
    this.#tokenMs = tokenMs;
    this.#bucket = this.#open();
    const { customEndpoint, useAuthWithCustomEndpoint } = this.#bucket.storage;
    this.isAnonymous = customEndpoint && useAuthWithCustomEndpoint !== true;
  }

  /** Returns the bucket when a token is available, so that calls do not wait for one. Throws a {@link CredentialsError}. */
  async authorized(): Promise<{ readonly bucket: Bucket; readonly token: string | null }> {
    const bucket = this.#bucket;
    if (this.isAnonymous) return { bucket, token: null };
    try {
      const headers = await withDeadline(
        bucket.storage.authClient.getRequestHeaders(),
        this.#tokenMs,
        'getting a token',
      );
      const token = headers.get('authorization');
      if (bucket === this.#bucket) this.#token = token;
      return { bucket, token };
    } catch (error) {
      // All later calls would join a request that hangs.
      if (error instanceof DeadlineError && bucket === this.#bucket) this.#bucket = this.#open();
      throw toCredentialsError(error);
    }
  }

  /** Called when the bucket has refused a token. Unless another token is in use already, the next one is requested from its source. */
  renew(refused: string | null): void {
    // If many calls are refused at once, renew only once.
    if (this.isAnonymous || refused !== this.#token) return;
    this.#token = undefined;
    // A new client, because the old one caches its token and the absence of a metadata server.
    this.#bucket = this.#open();
  }

  /** Returns a V4 link to read an object without further credentials until `expiresAt` (Unix ms). */
  async signLink(name: string, expiresAt: number): Promise<string> {
    const file = this.#bucket.file(name);
    const [link] = await file.getSignedUrl({ version: 'v4', action: 'read', expires: expiresAt });
    return link;
  }
}

function toCredentialsError(error: unknown): CredentialsError {
  const { status, code, message, response } = error as {
    status?: number;
    code?: unknown;
    message?: string;
    response?: { status?: number };
  };
  const answered = status ?? response?.status;
  const transient =
    error instanceof DeadlineError ||
    (answered === undefined ? /^(E[A-Z]+|UND_ERR_.*)$/.test(String(code)) && code !== 'ENOENT' : isPassing(answered));
  return new CredentialsError(String(message), transient, { cause: error });
}

const isPassing = (status: number) => status === 408 || status === 429 || status >= 500;
