import type { FastifyInstance } from 'fastify';
import { type CaptureListQuery, captureListQuerySchema, pageSchema } from '@webcapture/shared/api/capture-list.ts';
import { captureHistorySchema } from '@webcapture/shared/api/capture-history.ts';
import { captureStateSchema } from '@webcapture/shared/api/capture.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { CaptureList } from '../capture/capture-list.ts';
import { dispatchAfterMs } from '@webcapture/shared/captures/times.ts';
import { remove } from '@webcapture/shared/captures/transitions.ts';
import { historyView } from '@webcapture/shared/captures/history.ts';
import { captureView } from '@webcapture/shared/captures/view.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { removeCaptureFiles } from '@webcapture/shared/queue/follow-ups.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { extractedOf, type ExtractedDeps } from '../capture/extracted.ts';
import { changeCapture, readState } from '../capture/capture-state.ts';
import { requestOptions } from '../capture/request-options.ts';
import { requestRefresh, type RequestRefreshDeps } from '../capture/request-refresh.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { callNats } from '../nats.ts';
import { pageQueryOf } from '../validation/input.ts';
import {
  captureParams,
  captureRefusals,
  example,
  failureAnswers,
  sendData,
  keyRefusals,
  setRateLimitHeaders,
  successAnswer,
} from './answers.ts';
import {
  captureListExamples,
  failedExample,
  historyExample,
  pendingExample,
  refreshExample,
  resultExample,
} from './capture-examples.ts';

export interface CapturesDeps extends RequestRefreshDeps, ExtractedDeps {
  readonly cdnUrl: string;
  readonly captures: Captures;
  readonly session: NatsSession;
  readonly tasks: Tasks;
  readonly store: FileStore;
  readonly log: Logger;
}

/** GET /captures, GET and DELETE /captures/{uuid}, and its /history and /refresh, for the account of the API key. */
export function capturesRoutes(app: FastifyInstance, deps: CapturesDeps): void {
  listRoute(app, deps);
  getRoute(app, deps);
  historyRoute(app, deps);
  refreshRoute(app, deps);
  deleteRoute(app, deps);
}

function listRoute(app: FastifyInstance, { authenticator, session, cdnUrl, now }: CapturesDeps): void {
  const captureList = new CaptureList(session, undefined, now);
  app.get<{ Querystring: CaptureListQuery }>('/captures', {
    schema: {
      operationId: 'listCaptures',
      tags: ['captures'],
      summary: 'List the captures of the account, newest first',
      description:
        'Requires the scope read. A page can have fewer items than limit, or none, and still have a nextCursor, because one request searches a limited number of days and captures. The list ends when nextCursor is null. The parameter status selects captures by their current status; a completed capture whose file has expired has the status expired.',
      security: [{ apiKey: [] }],
      querystring: captureListQuerySchema,
      response: {
        200: successAnswer('One page of the list.', pageSchema(captureStateSchema), {
          captures: example('A list of two captures', success(captureListExamples.last)),
          scanning: example('An empty page that is not the last one', success(captureListExamples.scanning)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...keyRefusals]),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    ...pageQueryOf(captureListQuerySchema),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const time = now();
      const ask = { ...request.query, since: account.createdAt, now: time };
      const list = () => captureList.list(account.id, ask);
      const { records, nextCursor } = await callNats(list, 'The captures cannot be listed right now.');
      const items = records.map((record) => captureView(record, { cdnUrl, now: time }));
      return sendData(reply, { items, nextCursor });
    },
  });
}

function getRoute(app: FastifyInstance, deps: CapturesDeps): void {
  const { authenticator, cdnUrl } = deps;
  app.get<{ Params: { uuid: string } }>('/captures/:uuid', {
    schema: {
      operationId: 'getCapture',
      tags: ['captures'],
      summary: 'Get the state and the result of a capture',
      description:
        'Requires the scope read. The status is queued, rendering, completed or failed; it becomes expired when the file is removed, and deleted when the capture is deleted. A failed capture is returned with 200; its error contains the reason. A capture that a client waits for is not found (404) until it has ended.',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: successAnswer('The current state of the capture.', captureStateSchema, {
          completed: example('Completed', success(resultExample)),
          rendering: example('Rendering', success(pendingExample)),
          failed: example('Failed', success(failedExample)),
        }),
        ...failureAnswers(captureRefusals),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const record = await readState(deps, account.id, request.params.uuid);
      request.facts.record = record;
      const view = captureView(record, { cdnUrl, now: deps.now() });
      return sendData(reply, { ...view, ...(await extractedOf(record, deps)) });
    },
  });
}

/** The history of a capture: the options of its request, its refreshes, earlier files and webhook deliveries. */
function historyRoute(app: FastifyInstance, deps: CapturesDeps): void {
  const { cdnUrl } = deps;
  app.get<{ Params: { uuid: string } }>('/captures/:uuid/history', {
    schema: {
      operationId: 'getCaptureHistory',
      tags: ['captures'],
      summary: 'Get the request options, refreshes, earlier files and webhook deliveries of a capture',
      description:
        'Requires the scope read. Returns at most 20 refreshes, 100 earlier files and 20 delivery attempts, newest first.',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: successAnswer('The history of the capture.', captureHistorySchema, {
          refreshed: example('Refreshed once', success(historyExample)),
        }),
        ...failureAnswers(captureRefusals),
      },
    },
    onRequest: authenticateFirst(deps.authenticator, 'read'),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const record = await readState(deps, account.id, request.params.uuid);
      request.facts.record = record;
      return sendData(reply, { options: requestOptions(record), ...historyView(record, { cdnUrl, now: deps.now() }) });
    },
  });
}

/** Cancels a queued capture, or removes the file of one that has ended. */
function deleteRoute(app: FastifyInstance, deps: CapturesDeps): void {
  const { authenticator, tasks, followUps, session, store, cdnUrl, log } = deps;
  const cache = new Cache(session);
  app.delete<{ Params: { uuid: string } }>('/captures/:uuid', {
    schema: {
      operationId: 'deleteCapture',
      tags: ['captures'],
      summary: 'Delete a capture, or cancel a queued capture',
      description:
        'Requires the scope capture. Removes the file and the cache entry immediately and stops refreshes. The record is kept for 90 days with the status deleted, and its tokens stay charged. A capture that is being rendered cannot be deleted until it has ended (409).',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: successAnswer('The current state of the capture.', captureStateSchema, {
          deleted: example('Deleted', success({ ...resultExample, status: 'deleted' })),
        }),
        ...failureAnswers([...captureRefusals, 'CONFLICT']),
      },
    },
    onRequest: authenticateFirst(authenticator, 'capture'),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const { uuid } = request.params;
      request.facts.record = await readState(deps, account.id, uuid);
      // The leader checks the capture later, in case this front dies or the change succeeds after its timeout.
      const scheduleCheck = () =>
        tasks.schedule({ kind: 'expiry', account: account.id, uuid }, deps.now() + dispatchAfterMs);
      await callNats(scheduleCheck, 'The capture cannot be deleted right now.');
      const record = await changeCapture(deps, account.id, uuid, remove);
      request.facts.record = record;
      if (record.status !== 'deleted') {
        throw new ServiceError('CONFLICT', 'The capture is being rendered. Delete it when it has ended.');
      }
      await followUps.schedule(record);
      // The leader repeats the removal, so a failure here only delays it.
      await removeCaptureFiles(record, { store, cache, removeHtml: (name) => removeHtml(session, name) }).catch(
        (error: unknown) =>
          log.warn({ err: error }, 'the file of a deleted capture could not be removed; the leader removes it later'),
      );
      const view = captureView(record, { cdnUrl, now: deps.now() });
      return sendData(reply, view);
    },
  });
}

/** Captures the page again into the same file. */
function refreshRoute(app: FastifyInstance, deps: CapturesDeps): void {
  const { cdnUrl } = deps;
  app.post<{ Params: { uuid: string } }>('/captures/:uuid/refresh', {
    schema: {
      operationId: 'refreshCapture',
      tags: ['captures'],
      summary: 'Refresh a capture',
      description:
        'Requires the scope capture. Captures the page again into the same fileUrl. The response is sent immediately; the status of the capture stays completed, and the object refresh shows the progress. A refresh costs as many tokens as the capture, when it completes. The file is replaced only when the refresh completes. While a refresh is in progress, another request does not start a second one.',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: successAnswer('The current state of the capture.', captureStateSchema, {
          queued: example('Refresh queued', success(refreshExample)),
        }),
        ...failureAnswers([...captureRefusals, 'CONFLICT', 'QUOTA_EXCEEDED', 'QUEUE_FULL', 'REGION_UNAVAILABLE']),
      },
    },
    handler: async (request, reply) => {
      const { facts, headers, params } = request;
      const call = { uuid: params.uuid, authorization: headers.authorization };
      const record = await requestRefresh(call, facts, deps).finally(() => setRateLimitHeaders(reply, facts));
      const view = captureView(record, { cdnUrl, now: deps.now() });
      return sendData(reply, view);
    },
  });
}
