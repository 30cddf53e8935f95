import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { backoffMs, delay } from '../runtime/deadline.ts';
import { ServiceError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { newFileName } from './file-name.ts';
import type { NewFile } from './file-store.ts';
import type { BucketNeed, GcsLimits } from './gcs-client.ts';
import { deniedPermission, GcsError, isBucketMissing, isObjectMissing, mayBeMissing } from './gcs-error.ts';
import type { GcsStore } from './gcs-store.ts';

/** A permission that the bucket does not grant. */
class NeedRefused extends Error {
  readonly need: BucketNeed | 'list';

  constructor(need: BucketNeed | 'list', cause: GcsError) {
    super(`storage.objects.${need} is refused`, { cause });
    this.need = need;
  }
}

/**
 * Expiry of files that an interrupted check leaves behind. The lifecycle rule of the bucket removes them a day later.
 */
const leftoverMs = 5 * 60_000;

/** Time limit for removing the file of a failed check. */
const cleanUpMs = 2000;

/**
 * Checks the rights that a service needs on a bucket: with a new file where it may create one, else with a name that
 * does not exist. A service without the right to list gets a refusal for such a name; the bucket is then asked for its
 * rights. Throws a NeedRefused, or the errors of the store.
 */
async function tryBucket(store: GcsStore, needs: readonly BucketNeed[], limits: GcsLimits): Promise<void> {
  const name = newFileName(randomUUIDv7(), 'png');
  if (needs.every((need) => need === 'create')) return openSession(store, name, limits);
  const refusal = await askForMissing(store, name, limits);
  if (needs.includes('create')) await useFile(store, name, needs, limits);
  if (refusal !== null) await askForRights(store, needs, refusal, limits);
  // Without the right to delete, the request is refused before the name is looked up.
  else if (!needs.includes('create') && needs.includes('delete')) await store.remove(name, limits);
}

/**
 * Opens a resumable upload, which needs the right to create an object, without sending data: a service without the
 * right to delete must not leave an object behind at each start. The bucket drops the session after a week.
 */
async function openSession({ client }: GcsStore, name: string, limits: GcsLimits): Promise<void> {
  await client.call('create', limits, (bucket) =>
    bucket.file(name).createResumableUpload({
      metadata: { contentType: 'image/png' },
      preconditionOpts: { ifGenerationMatch: 0 },
    }),
  );
}

/** Requests an object that does not exist; returns the refusal if there is one. */
function askForMissing({ client }: GcsStore, name: string, limits: GcsLimits): Promise<GcsError | null> {
  return client.retry('get', limits, async (signal) => {
    try {
      await client.attempt('get', signal, (bucket) => bucket.file(name).getMetadata());
      return null;
    } catch (error) {
      if (!(error instanceof GcsError)) throw error;
      if (isObjectMissing(error)) return null;
      if (mayBeMissing(error)) return error;
      throw error;
    }
  });
}

async function useFile(store: GcsStore, name: string, needs: readonly BucketNeed[], limits: GcsLimits): Promise<void> {
  const file: NewFile = {
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
  };
  await store.create(file, limits);
  try {
    if (needs.includes('get') && (await store.stat(name, limits)) === null) {
      throw new Error('the bucket does not find an object that it has just stored');
    }
  } catch (error) {
    await store.remove(name, { deadline: Date.now() + cleanUpMs }).catch(() => undefined);
    throw error;
  }
  if (needs.includes('delete')) await store.remove(name, limits);
}

/** Throws unless the bucket grants the permissions with which a refused name is known to be missing. */
async function askForRights(
  { client }: GcsStore,
  needs: readonly BucketNeed[],
  refusal: GcsError,
  limits: GcsLimits,
): Promise<void> {
  const granted = await client.rights.ask(limits);
  const lacking = needs.find((need) => granted?.has(`storage.objects.${need}`) !== true);
  if (lacking === undefined) return;
  // The created file proves that this permission exists, but under a condition: without `list`, missing objects cannot be detected.
  throw new NeedRefused(needs.includes('create') ? 'list' : lacking, refusal);
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
  needs: readonly BucketNeed[],
  options: {
    readonly signal: AbortSignal;
    readonly log: Logger;
    readonly onWait: (what: string) => void;
    /** How long a failing bucket is retried before that is reported. Default: 5 s. */
    readonly tryMs?: number;
  },
): Promise<void> {
  const { signal, log, onWait, tryMs = 5000 } = options;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      await tryBucket(store, needs, { deadline: Date.now() + tryMs, signal });
      return;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = thrown instanceof ServiceError ? thrown.cause : thrown;
      if (!(error instanceof GcsError) || !error.transient) throw explain(error, store, needs);
      onWait(`waiting for the bucket ${store.client.bucket}: ${error.detail}`);
      log.warn({ err: error, bucket: store.client.bucket }, 'waiting for the bucket');
      await delay(backoffMs(attempt, 500, 5000), signal);
    }
  }
}

/** Explains the problem of a bucket and its solution. */
function explain(error: unknown, { client }: GcsStore, needs: readonly BucketNeed[]): BucketError {
  const { bucket } = client;
  const say = (message: string) => new BucketError(message, { cause: error });
  if (error instanceof NeedRefused) {
    const all = [...new Set([...needs, error.need])];
    return say(`${refusal(bucket, `storage.objects.${error.need}`, all)} ${saidBy(error.cause as GcsError)}`);
  }
  if (!(error instanceof GcsError)) return say(`the bucket ${bucket} cannot be used: ${String(error)}`);
  if (error.failure === 'credentials') {
    return say(
      `no credentials for the bucket ${bucket}: name a key file in GOOGLE_APPLICATION_CREDENTIALS, or run with a service ` +
        `account (Workload Identity); an emulator is named by WEBCAPTURE_GCS_ENDPOINT. Google's library says: ${error.detail}`,
    );
  }
  if (isBucketMissing(error)) {
    return say(`there is no bucket ${bucket}: create it, or correct WEBCAPTURE_GCS_BUCKET. ${saidBy(error)}`);
  }
  if (error.status === 401) {
    return say(
      `the bucket ${bucket} refuses the credentials, which have expired or were revoked: renew them. ${saidBy(error)}`,
    );
  }
  if (error.status === 403 && (error.reason ?? 'forbidden') === 'forbidden') {
    const right = deniedPermission(error) ?? `storage.objects.${error.operation}`;
    return say(`${refusal(bucket, right, needs)} ${saidBy(error)}`);
  }
  return say(`the bucket ${bucket} cannot be used: ${error.message}`);
}

function refusal(bucket: string, right: string, needs: readonly string[]): string {
  const all = needs.map((need) => `storage.objects.${need}`).join(', ');
  const isCreator = needs.every((need) => need === 'create');
  const isWriter = needs.includes('create') || needs.includes('delete');
  const role = isCreator ? 'storage.objectCreator' : isWriter ? 'storage.objectUser' : 'storage.objectViewer';
  return (
    `the right ${right} on the bucket ${bucket} is missing: grant this service's account roles/${role} there, ` +
    `or a role of your own with ${all} (docs/storage.md).`
  );
}

const saidBy = ({ status, reason, detail }: GcsError) =>
  `The answer was${status === undefined ? '' : ` ${status}`}${reason === undefined ? '' : ` ${reason}`}: ${detail}`;
