import { randomUUIDv7 } from 'node:crypto';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { DeadlineError, withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { backoffMs, delay } from '@webcapture/shared/lifecycle/delay.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';
import type { SignLink } from '@webcapture/shared/storage/open-store.ts';

const tryMs = 15_000;

/**
 * Resolves when links can be signed. Waits for a service that is away; throws an Error that says what an operator has to
 * do when it refuses.
 *
 * @param options.onWait gets what is waited for, each time
 */
export async function trySigning(
  sign: SignLink,
  { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: (what: string) => void },
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await signNothing(sign);
    } catch (thrown) {
      const cause = thrown instanceof ServiceError ? thrown.cause : thrown;
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (!isPassing(cause)) {
        throw new Error(
          `WEBCAPTURE_GCS_LINKS is signed, but links cannot be signed: ${reason}. Grant this service account ` +
            'roles/iam.serviceAccountTokenCreator on itself, or give it a key file (docs/storage.md); or leave ' +
            'WEBCAPTURE_GCS_LINKS at stream.',
          { cause },
        );
      }
      onWait(`waiting to sign links: ${reason}`);
      await delay(backoffMs(attempt, 500, 5000), signal);
    }
  }
}

async function signNothing(sign: SignLink): Promise<void> {
  const now = Date.now();
  const file = {
    name: newFileName(randomUUIDv7(), 'png'),
    contentType: 'image/png',
    size: 1,
    etag: '',
    storedAt: now,
    expiresAt: now + tryMs,
    width: 1,
    height: 1,
  } as const;
  await withDeadline(sign(file, { expiresAt: file.expiresAt }), tryMs, 'signing a link');
}

/** Whether the same may succeed a moment later: the error itself or one below it tells of a connection, or of a 5xx. */
function isPassing(error: unknown): boolean {
  if (error instanceof DeadlineError) return true;
  if (!(error instanceof Error)) return false;
  const { code, status, cause } = error as Error & { code?: unknown; status?: unknown };
  const answered = Number(status ?? code);
  if (answered === 429 || answered >= 500) return true;
  return /^(?:E[A-Z]+|UND_ERR_.*)$/.test(String(code)) || isPassing(cause);
}
