import { ServiceError } from '../../errors/service-error.ts';
import { backoffMs, delay } from '../../lifecycle/delay.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { GcsStore } from '../gcs-store.ts';
import type { BucketNeed } from './bucket-rights.ts';
import { deniedPermission, GcsError, isBucketMissing } from './gcs-error.ts';
import { NeedRefused, tryBucket } from './try-bucket.ts';

/** The bucket cannot be used like this, and waiting does not help; the message is for the operator. */
export class BucketError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'BucketError';
  }
}

/**
 * Resolves when a service can do what it needs with the bucket. One that is away is waited for, as long as it takes.
 *
 * @param options.onWait gets what is waited for, each time
 * @throws BucketError that says what is wrong: no bucket, no credentials, a right that is missing
 */
export async function bucketReady(
  store: GcsStore,
  needs: readonly BucketNeed[],
  options: {
    readonly signal: AbortSignal;
    readonly log: Logger;
    readonly onWait: (what: string) => void;
    /** How long a bucket that does not answer well is asked before that is told. By default 5 s. */
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

/** What is wrong with a bucket and what to do about it. */
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

function refusal(bucket: string, right: string, needs: readonly BucketNeed[]): string {
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
