import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { backoffMs, delay } from '../runtime/deadline.ts';
import { ServiceError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { newFileName } from './file-name.ts';
import { openSession } from './gcs-calls.ts';
import type { GcsLimits } from './gcs-client.ts';
import { GcsError } from './gcs-error.ts';
import type { GcsStore } from './gcs-store.ts';

/** What a service does with the objects of the bucket: it only creates them, or it also reads and deletes them. */
export type BucketUse = 'create' | 'all';

const roles = {
  create: { name: 'storage.objectCreator', rights: ['storage.objects.create'] },
  all: {
    name: 'storage.objectUser',
    rights: ['storage.objects.create', 'storage.objects.get', 'storage.objects.delete'],
  },
} as const;

/** Expiry of files that an interrupted check leaves behind. The lifecycle rule of the bucket removes them a day later. */
const leftoverMs = 5 * 60_000;

/** Time limit for removing the file of a failed check. */
const cleanUpMs = 2000;

/**
 * Checks the rights that a service needs on a bucket. A service that may only create objects opens a resumable upload without sending
 * data, because it must not leave an object behind at each start. Throws the errors of the store.
 */
async function tryBucket(store: GcsStore, use: BucketUse, limits: GcsLimits): Promise<void> {
  const name = newFileName(randomUUIDv7(), 'png');
  if (use === 'create') {
    const what = { name, metadata: { contentType: 'image/png' } };
    await store.client.call('create', limits, ({ bucket }) => openSession(bucket, what));
    return;
  }
  await store.create(
    {
      object: name,
      // Any region: buckets do not distinguish regions.
      region: 'us-east',
      account: 'probe',
      bytes: randomBytes(64),
      contentType: 'image/png',
      expiresAt: Date.now() + leftoverMs,
      width: 1,
      height: 1,
      deadline: limits.deadline,
    },
    limits,
  );
  try {
    const found = await store.stat(name, limits);
    if (found === null) throw new Error('the bucket does not find an object that it has just stored');
  } catch (error) {
    await store.remove(name, { deadline: Date.now() + cleanUpMs }).catch(() => undefined);
    throw error;
  }
  await store.remove(name, limits);
  try {
    await store.stat(name, limits);
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof GcsError && cause.isForbidden) throw new ListRefused(cause);
    throw error;
  }
}

/** The bucket refuses a request for an object that does not exist, although the service may read those that exist. */
class ListRefused extends Error {
  readonly answer: GcsError;

  constructor(answer: GcsError) {
    super('storage.objects.list is refused', { cause: answer });
    this.answer = answer;
  }
}

/** The bucket cannot be used, and waiting does not help. The message is for the operator. */
export class BucketError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'BucketError';
  }
}

/**
 * Resolves when the service has the rights that it needs on the bucket. Waits without a limit for an unavailable bucket.
 *
 * @param options.onWait called with the reason for waiting, each time
 * @throws BucketError that names the problem: no bucket, no credentials, a missing right
 */
export async function bucketReady(
  store: GcsStore,
  use: BucketUse,
  options: {
    readonly signal: AbortSignal;
    readonly log: Logger;
    readonly onWait: (what: string) => void;
    /** How long a failing bucket is retried before that is reported. Default: 5 s. */
    readonly tryMs?: number;
  },
): Promise<void> {
  const { signal, log, onWait, tryMs = 5000 } = options;
  const { bucket } = store.client;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      await tryBucket(store, use, { deadline: Date.now() + tryMs, signal });
      return;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = thrown instanceof ServiceError ? thrown.cause : thrown;
      if (!(error instanceof GcsError) || !error.transient) {
        throw new BucketError(explanation(error, bucket, use), { cause: error });
      }
      onWait(`waiting for the bucket ${bucket}: ${error.detail}`);
      log.warn({ err: error, bucket }, 'waiting for the bucket');
      await delay(backoffMs(attempt, 500, 5000), signal);
    }
  }
}

/** Explains the problem of a bucket and its solution. */
function explanation(error: unknown, bucket: string, use: BucketUse): string {
  const { rights } = roles[use];
  if (error instanceof ListRefused) {
    const right = 'storage.objects.list';
    return `${refusal(bucket, right, use, [...rights, right])} ${saidBy(error.answer)}`;
  }
  if (!(error instanceof GcsError)) return `the bucket ${bucket} cannot be used: ${String(error)}`;
  if (error.failure === 'credentials') {
    return (
      `no credentials for the bucket ${bucket}: name a key file in GOOGLE_APPLICATION_CREDENTIALS, or run with a service ` +
      `account (Workload Identity); an emulator is named by WEBCAPTURE_GCS_ENDPOINT. Google's library says: ${error.detail}`
    );
  }
  if (error.isBucketMissing) {
    return `there is no bucket ${bucket}: create it, or correct WEBCAPTURE_GCS_BUCKET. ${saidBy(error)}`;
  }
  if (error.status === 401) {
    return `the bucket ${bucket} refuses the credentials, which have expired or were revoked: renew them. ${saidBy(error)}`;
  }
  if (!error.isForbidden) return `the bucket ${bucket} cannot be used: ${error.message}`;
  const right = error.deniedPermission ?? `storage.objects.${error.operation}`;
  return `${refusal(bucket, right, use, rights)} ${saidBy(error)}`;
}

const refusal = (bucket: string, right: string, use: BucketUse, rights: readonly string[]) =>
  `the right ${right} on the bucket ${bucket} is missing: grant this service's account roles/${roles[use].name} there, ` +
  `or a role of your own with ${rights.join(', ')} (docs/storage.md).`;

const saidBy = ({ status, reason, detail }: GcsError) =>
  `The answer was${status === undefined ? '' : ` ${status}`}${reason === undefined ? '' : ` ${reason}`}: ${detail}`;
