import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { captureStateSchema } from '@webcapture/shared/contract/capture-state.ts';
import { captureView } from '@webcapture/shared/contract/capture-view.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { refreshHold } from '@webcapture/shared/state/account-usage.ts';
import { bookingMs } from '@webcapture/shared/state/capture-times.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import { isRefreshable, nextRevision } from '@webcapture/shared/state/transitions.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { readState } from '../capture/read-state.ts';
import type { FrontDeps } from '../deps.ts';
import { tellQueueWait } from '../limits/queue-wait.ts';
import { takePlace } from '../limits/take-place.ts';
import { captureParams, captureRefusals, example, failureAnswers, successAnswer } from '../openapi/answers.ts';
import { refreshExample } from '../openapi/examples.ts';

/** POST /captures/{uuid}/refresh: captures again into the same file. */
export function refreshCaptureRoute(app: FastifyInstance, deps: FrontDeps): void {
  const { authenticator, config } = deps;
  app.post<{ Params: { uuid: string } }>('/captures/:uuid/refresh', {
    schema: {
      operationId: 'refreshCapture',
      tags: ['captures'],
      summary: 'Capture again into the same file',
      description:
        'Needs the scope capture. Answers at once; the state stays completed, and refresh tells how it goes. It costs what the capture cost, when it completes. While it is under way the file stays as it was; when it fails, too. Asking while a refresh is under way starts no other.',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: successAnswer('The capture as it stands.', captureStateSchema, {
          queued: example('The refresh waits', success(refreshExample)),
        }),
        ...failureAnswers([
          ...captureRefusals,
          'CONFLICT',
          'QUOTA_EXCEEDED',
          'RATE_LIMIT_EXCEEDED',
          'QUEUE_FULL',
          'REGION_UNAVAILABLE',
        ]),
      },
    },
    handler: async (request, reply) => {
      const { account } = await authenticator.authenticate(request.headers.authorization, 'capture');
      request.facts.account = account.id;
      const record = await readState(deps, account.id, request.params.uuid);
      request.facts.record = record;
      assertHasFile(record, deps.now());
      const after = isRefreshable(record) ? await refresh(record, account, reply, deps) : record;
      const view = captureView(after, { cdnUrl: config.cdnUrl, now: deps.now() });
      return reply.header('cache-control', 'no-store').send(success(view));
    },
  });
}

function assertHasFile({ status, expiresAt, url, persistence }: CaptureRecord, now: number): void {
  if (status !== 'completed' || expiresAt <= now) {
    const state = status === 'completed' ? 'expired' : status;
    throw new ServiceError('CONFLICT', `Only a completed capture can be refreshed; this one is ${state}.`);
  }
  // Html of a background capture lies there for a while even without persistence, but perhaps not until the refresh.
  if (url === 'about:blank' && persistence === undefined) {
    throw new ServiceError(
      'CONFLICT',
      'The html of this capture was not kept, so it cannot be captured again. Ask for persistence when you capture html that is to be refreshed.',
    );
  }
}

async function refresh(
  record: CaptureRecord,
  account: Account,
  reply: FastifyReply,
  deps: FrontDeps,
): Promise<CaptureRecord> {
  const { regions, backgroundQueue, now } = deps;
  const region = await regions.choose(record.askedRegion);
  const waitSeconds = regions.estimatedWaitSeconds(region);
  const place = await takePlace(
    {
      account,
      id: refreshHold(record.uuid, nextRevision(record)),
      tokens: record.tokenCost,
      lane: 'background',
      until: now() + bookingMs,
      waitSeconds,
    },
    reply,
    deps,
  );
  try {
    const after = await backgroundQueue.enqueueRefresh(record, region, account.isolation);
    if (after === null) throw new ServiceError('CAPTURE_NOT_FOUND');
    return after;
  } catch (error) {
    tellQueueWait(error, reply, waitSeconds);
    throw error;
  } finally {
    await place.leave();
  }
}
