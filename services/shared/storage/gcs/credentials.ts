import { DeadlineError, withDeadline } from '../../lifecycle/deadline.ts';

/** Who the bucket is asked as. */
export interface Credentials {
  /** The headers that say so. Throws a {@link CredentialsError}. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** The bucket refused these headers: unless others are in use by now, the next ones are got anew, from the source on. */
  renew(refused: Readonly<Record<string, string>>): void;
  /** A V4 link to read an object with, without any other right, until `expiresAt` (Unix ms). */
  signLink(object: { bucket: string; name: string; expiresAt: number }): Promise<string>;
}

/** There are no credentials, or nobody gives a token for them. */
export class CredentialsError extends Error {
  /** Whether that may be over in a moment. */
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
 * Credentials as Google's libraries find them: the key file of GOOGLE_APPLICATION_CREDENTIALS, gcloud's own, the metadata
 * server (Workload Identity). Their library is loaded here, since only a bucket needs it.
 *
 * @param endpoint another server than Google's; links lead there
 * @param tokenMs the most that getting a token may take
 */
export async function findCredentials({
  project,
  endpoint,
  tokenMs = defaultTokenMs,
}: {
  readonly project?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly tokenMs?: number;
}): Promise<Credentials> {
  const { Storage } = await import('@google-cloud/storage');
  const open = () =>
    new Storage({
      ...(project === undefined ? {} : { projectId: project }),
      ...(endpoint === undefined ? {} : { apiEndpoint: endpoint, useAuthWithCustomEndpoint: true }),
    });
  let storage = open();
  let current: string | undefined;
  return {
    headers: async () => {
      const asked = storage;
      try {
        const headers = await withDeadline(asked.authClient.getRequestHeaders(), tokenMs, 'getting a token');
        if (asked === storage) current = headers.get('authorization') ?? undefined;
        return Object.fromEntries(headers.entries());
      } catch (error) {
        // A question that hangs is joined by all that follow, for ever.
        if (error instanceof DeadlineError && asked === storage) storage = open();
        throw toCredentialsError(error);
      }
    },
    renew: ({ authorization }) => {
      // Of many that are refused at once, the first one is enough.
      if (authorization !== current) return;
      current = undefined;
      // What it knows (a token, that there is no metadata server) it would keep.
      storage = open();
    },
    signLink: async ({ bucket, name, expiresAt }) => {
      const [link] = await storage
        .bucket(bucket)
        .file(name)
        .getSignedUrl({ version: 'v4', action: 'read', expires: expiresAt });
      return link;
    },
  };
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
