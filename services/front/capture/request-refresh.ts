import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { refreshReservation } from '@webcapture/shared/accounts/account-usage.ts';
import { refusalToIgnoreTlsErrors } from '@webcapture/shared/accounts/tls-errors.ts';
import { reservationMs } from '@webcapture/shared/captures/times.ts';
import { isRefreshable, nextRefreshNumber } from '@webcapture/shared/captures/transitions.ts';
import { withRetryAfter, type Admission } from '../admission.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { RequestFacts } from '../http/request-facts.ts';
import type { BackgroundQueue } from './background-queue.ts';
import { readState, type ReadStateDeps } from './capture-state.ts';
import type { RegionSelector } from './regions.ts';

export interface RequestRefreshDeps extends ReadStateDeps {
  readonly authenticator: Authenticator;
  readonly regions: RegionSelector;
  readonly admission: Admission;
  readonly backgroundQueue: BackgroundQueue;
  /** Whether the captures of accounts with the permission may ignore TLS errors. */
  readonly allowIgnoreTlsErrors: boolean;
}

/**
 * Queues the next refresh of a capture, unless one is in progress. Returns the current record. Writes facts about the request into `facts`,
 * even if the request fails.
 *
 * @throws ServiceError the refusal of a step; CONFLICT for a capture that cannot be refreshed; FORBIDDEN for a capture with an option that
 * the account may no longer use
 */
export async function requestRefresh(
  { uuid, authorization }: { readonly uuid: string; readonly authorization: string | undefined },
  facts: RequestFacts,
  deps: RequestRefreshDeps,
): Promise<CaptureRecord> {
  const { authenticator, regions, admission, backgroundQueue, allowIgnoreTlsErrors, now } = deps;

  // Authenticate.
  const { account } = await authenticator.authenticate(authorization, 'capture');
  facts.account = account.id;

  // Validate: the record shows whether the capture can be refreshed.
  const record = await readState(deps, account.id, uuid);
  facts.record = record;
  assertHasFile(record, now());
  // The operator may have withdrawn the permission.
  const refusal = refusalToIgnoreTlsErrors(record.options, account, allowIgnoreTlsErrors);
  if (refusal !== null) throw new ServiceError('FORBIDDEN', refusal);
  if (!isRefreshable(record)) return record;

  // Admit.
  const region = await regions.choose(record.requestedRegion);
  const waitSeconds = regions.estimatedWaitSeconds(region);
  const id = refreshReservation(record.uuid, nextRefreshNumber(record));
  const { tokenCost: tokens } = record;
  const reserve = { id, tokens, priority: 'background', until: now() + reservationMs, waitSeconds } as const;
  const reservation = await admission.admit(account, reserve, facts);

  // Dispatch.
  try {
    const after = await backgroundQueue.enqueueRefresh(record, region, account.isolation);
    if (after === null) throw new ServiceError('CAPTURE_NOT_FOUND');
    return after;
  } catch (error) {
    throw withRetryAfter(error, waitSeconds);
  } finally {
    await reservation.release();
  }
}

function assertHasFile({ status, expiresAt, url, persistence, options, secrets }: CaptureRecord, now: number): void {
  if (status !== 'completed' || expiresAt <= now) {
    const state = status === 'completed' ? 'expired' : status;
    throw new ServiceError('CONFLICT', `Only a completed capture can be refreshed; this one is ${state}.`);
  }
  // The HTML of a background capture is stored for a while even without persistence, but may expire before the refresh.
  if (url === 'about:blank' && persistence === undefined) {
    throw new ServiceError(
      'CONFLICT',
      'The html of this capture was not stored, so it cannot be captured again. Request persistence for html that is to be refreshed.',
    );
  }
  if (options.secrets !== undefined && secrets === undefined) {
    throw new ServiceError(
      'CONFLICT',
      'The headers, cookies, auth, css, script, pdf.encryption or values of steps of this capture were not stored, because the operator had set no WEBCAPTURE_SECRETS_KEY, so it cannot be captured again.',
    );
  }
}
