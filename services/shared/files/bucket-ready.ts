import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { backoffMs, delay } from '../runtime/deadline.ts';
import { ServiceError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { newFileName } from './file-name.ts';
import type { BucketWords, ObjectBucket, ObjectLimits } from './object-bucket.ts';
import { ObjectError } from './object-error.ts';
import type { NewFile } from './file-store.ts';
import type { BucketStore } from './bucket-store.ts';

/** What a service does with the objects of the bucket: it only creates them, or it also reads and deletes them. */
export type BucketUse = 'create' | 'all';

/** Lifetime of files that an interrupted check leaves behind. The lifecycle rule of the bucket removes them a day after it. */
const leftoverMs = 5 * 60_000;

/** Time limit for removing the file of a failed check. */
const cleanUpMs = 2000;

/**
 * Checks the rights that a service needs on a bucket. If the service may only create objects, the check leaves no object behind, because
 * the service could not remove it. Throws the errors of the store.
 */
async function tryBucket(store: BucketStore, use: BucketUse, limits: ObjectLimits): Promise<void> {
  const name = newFileName(randomUUIDv7(), 'png');
  if (use === 'create') {
    await store.bucket.tryCreate(name, limits);
    return;
  }
  const file: NewFile = {
    object: name,
    // The region does not matter, because buckets do not distinguish regions.
    region: 'us-east',
    account: 'probe',
    bytes: randomBytes(64),
    contentType: 'image/png',
    expiresAt: Date.now() + leftoverMs,
    width: 1,
    height: 1,
    deadline: limits.deadline,
  };
  try {
    // This call also reads the metadata of the file.
    await store.create(file, limits);
  } catch (error) {
    await store.remove(name, { deadline: Date.now() + cleanUpMs }).catch(() => undefined);
    throw error;
  }
  await store.remove(name, limits);
  try {
    await store.stat(name, limits);
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof ObjectError && cause.isForbidden) throw new ListRefused(cause);
    throw error;
  }
}

/** Thrown if the bucket refuses a request for an object that does not exist, although the service may read those that exist. */
class ListRefused extends Error {
  readonly answer: ObjectError;

  constructor(answer: ObjectError) {
    super('storage.objects.list is refused', { cause: answer });
    this.answer = answer;
  }
}

/** Thrown if the bucket cannot be used, and waiting does not help. The message is for the operator. */
export class BucketError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'BucketError';
  }
}

/**
 * Resolves when the service has the rights that it needs on the bucket. Waits without a limit for an unavailable bucket.
 *
 * @param options.onWait called each time with the reason for waiting
 * @throws BucketError that names the problem: no bucket, no credentials, or a missing right
 */
export async function bucketReady(
  store: BucketStore,
  use: BucketUse,
  options: {
    readonly signal: AbortSignal;
    readonly log: Logger;
    readonly onWait: (what: string) => void;
    /** Time for which a failing bucket is retried before the failure is reported. Default: 5 s. */
    readonly tryMs?: number;
  },
): Promise<void> {
  const { signal, log, onWait, tryMs = 5000 } = options;
  const { bucket } = store.bucket;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      await tryBucket(store, use, { deadline: Date.now() + tryMs, signal });
      return;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = thrown instanceof ServiceError ? thrown.cause : thrown;
      if (!(error instanceof ObjectError) || !error.transient) {
        throw new BucketError(explanation(error, store.bucket, use), { cause: error });
      }
      onWait(`waiting for the bucket ${bucket}: ${error.detail}`);
      log.warn({ err: error, bucket }, 'waiting for the bucket');
      await delay(backoffMs(attempt, 500, 5000), signal);
    }
  }
}

/** Explains the problem of a bucket and its solution. */
function explanation(error: unknown, { bucket, words }: ObjectBucket, use: BucketUse): string {
  if (error instanceof ListRefused) return `${refusal(bucket, words, use, words.rights.list)} ${saidBy(error.answer)}`;
  if (!(error instanceof ObjectError)) return `the bucket ${bucket} cannot be used: ${String(error)}`;
  if (error.failure === 'credentials') {
    return `no credentials for the bucket ${bucket}: ${words.credentials}: ${error.detail}`;
  }
  if (error.isBucketMissing) {
    return `there is no bucket ${bucket}: create it, or correct ${words.variable}. ${saidBy(error)}`;
  }
  if (error.status === 401) {
    return `the bucket ${bucket} refuses the credentials, which have expired or were revoked: renew them. ${saidBy(error)}`;
  }
  if (!error.isForbidden || error.operation === 'testPermissions') {
    return `the bucket ${bucket} cannot be used: ${error.message}`;
  }
  const right = error.deniedPermission ?? words.rights[error.operation];
  return `${refusal(bucket, words, use, right)} ${saidBy(error)}`;
}

function refusal(bucket: string, { rights, grant }: BucketWords, use: BucketUse, missing: string): string {
  const { create, get, delete: remove } = rights;
  const all = new Set(use === 'create' ? [create] : [create, get, remove]).add(missing);
  return (
    `the right ${missing} on the bucket ${bucket} is missing: grant this service's account ${grant[use]} there, ` +
    `or a role of your own with ${[...all].join(', ')} (docs/storage.md).`
  );
}

const saidBy = ({ status, reason, detail }: ObjectError) =>
  `The answer was${status === undefined ? '' : ` ${status}`}${reason === undefined ? '' : ` ${reason}`}: ${detail}`;
