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
 * Google's library with the credentials that it finds: the key file of GOOGLE_APPLICATION_CREDENTIALS, gcloud's own, the
 * metadata server (Workload Identity).
 */
export class Credentials {
  readonly isAnonymous: boolean;
  readonly #open: () => Bucket;
  readonly #tokenMs: number;
  #bucket: Bucket;
  #token: string | null | undefined;

  /** @param tokenMs the most that getting a token may take */
  constructor(open: () => Storage, bucket: string, tokenMs = defaultTokenMs) {
    this.#open = () => open().bucket(bucket);
    this.#tokenMs = tokenMs;
    this.#bucket = this.#open();
    const { customEndpoint, useAuthWithCustomEndpoint } = this.#bucket.storage;
    this.isAnonymous = customEndpoint && useAuthWithCustomEndpoint !== true;
  }

  /** The bucket once there is a token, so that no call of it waits for one. Throws a {@link CredentialsError}. */
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
      // A question that hangs is joined by all that follow, for ever.
      if (error instanceof DeadlineError && bucket === this.#bucket) this.#bucket = this.#open();
      throw toCredentialsError(error);
    }
  }

  /** The bucket refused a token: unless another one is in use by now, the next one is got anew, from the source on. */
  renew(refused: string | null): void {
    // Of many that are refused at once, the first one is enough.
    if (this.isAnonymous || refused !== this.#token) return;
    this.#token = undefined;
    // What it knows (a token, that there is no metadata server) it would keep.
    this.#bucket = this.#open();
  }

  /** A V4 link to read an object with, without any other right, until `expiresAt` (Unix ms). */
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
