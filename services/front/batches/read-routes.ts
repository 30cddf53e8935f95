import { batchSchema } from '@webcapture/shared/api/batch.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import type { BatchRecord } from '@webcapture/shared/captures/batch-record.ts';
import { type BatchItem, batchSummary, batchView, readBatchItems } from '@webcapture/shared/captures/batch-state.ts';
import type { Batches } from '@webcapture/shared/captures/batches.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance } from 'fastify';
import { RetryLaterError } from '../admission.ts';
import { eventStreamAnswer, example, failureAnswers, keyRefusals, sendData, successAnswer } from '../api/answers.ts';
import type { AccountStreams } from '../api/events.ts';
import { containment, disconnectWhenStalled } from '../api/send-file.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { authenticateFirst, callerOf, clientGone } from '../http/request-facts.ts';
import { callNats } from '../nats.ts';
import { BatchProgress } from './batch-progress.ts';
import { acceptedBatchExample, batchEventExample, endedBatchExample } from './examples.ts';
import type { BatchMetrics } from './metrics.ts';
import { zipOf } from './zip.ts';

export interface BatchReadDeps {
  readonly batches: Batches;
  readonly authenticator: Authenticator;
  readonly session: NatsSession;
  readonly cdnUrl: string;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
}

/** GET /batches/{id}, and its /events and /zip, for the account of the API key. */
export function batchRoutes(app: FastifyInstance, deps: BatchReadDeps & EventsDeps & ZipRouteDeps): void {
  getRoute(app, deps);
  eventsRoute(app, deps);
  zipRoute(app, deps);
}

function getRoute(app: FastifyInstance, deps: BatchReadDeps): void {
  const { authenticator } = deps;
  app.get<{ Params: { id: string } }>('/batches/:id', {
    schema: {
      operationId: 'getBatch',
      tags: ['captures'],
      summary: 'Get the state of a batch',
      description:
        'Requires the scope read. Returns the number of captures by status, and all captures in the order of the requests. A batch is kept for 90 days after its last file has expired.',
      security: [{ apiKey: [] }],
      params: batchParams,
      response: {
        200: successAnswer('The current state of the batch.', batchSchema, {
          processing: example('Captures wait', success(acceptedBatchExample)),
          completed: example('All captures have ended', success(endedBatchExample)),
        }),
        ...failureAnswers(batchRefusals),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    handler: async (request, reply) => {
      const batch = await findBatch(callerOf(request).account.id, request.params.id, deps);
      return sendData(reply, await viewOf(batch, deps));
    },
  });
}

/** The path parameter of a batch. It has no format, so that an invalid id is answered with 404. */
const batchParams = {
  type: 'object',
  properties: { id: { type: 'string', description: 'ID of the batch.' } },
};

/** Errors of every route of one batch. */
const batchRefusals = [...keyRefusals, 'NOT_FOUND'] as const;

/** @throws ServiceError NOT_FOUND; INTERNAL_ERROR if the batch cannot be read */
async function findBatch(account: string, id: string, { batches }: BatchReadDeps): Promise<BatchRecord> {
  const batch = await callNats(() => batches.get(account, id), 'The batch cannot be read right now.');
  if (batch === null) throw new ServiceError('NOT_FOUND', 'This account has no batch of that id.');
  return batch;
}

/** Returns a batch for the account holder. */
export async function viewOf(batch: BatchRecord, deps: BatchReadDeps) {
  return batchView(batch, await itemsOf(batch, deps), { cdnUrl: deps.cdnUrl, now: deps.now() });
}

/** @throws ServiceError INTERNAL_ERROR */
function itemsOf(batch: BatchRecord, { session, now }: BatchReadDeps): Promise<readonly BatchItem[]> {
  const readItems = () => readBatchItems(session, batch, now());
  return callNats(readItems, 'The captures of the batch cannot be read right now.', readTimeoutMs);
}

/** Timeout of reading the states of all captures of a batch. */
const readTimeoutMs = 10_000;

interface EventsDeps {
  readonly accountStreams: AccountStreams;
}

function eventsRoute(app: FastifyInstance, deps: BatchReadDeps & EventsDeps): void {
  const { accountStreams, now } = deps;
  app.get<{ Params: { id: string } }>('/batches/:id/events', {
    exposeHeadRoute: false,
    schema: {
      operationId: 'streamBatchEvents',
      tags: ['captures'],
      summary: 'Follow a batch',
      description:
        'Requires the scope read. Server-sent events: first an event batch, whose data is {id, status, counts}; an event capture after each change of a capture of the batch, whose data is {index, uuid, status, counts}; and an event batch when all captures have ended, with which the stream ends. The limits, the errors and the comments are those of GET /events.',
      security: [{ apiKey: [] }],
      params: batchParams,
      response: {
        200: eventStreamAnswer(
          'Events of the types batch, capture and error.',
          `event: capture\ndata: ${JSON.stringify(batchEventExample)}\n\n`,
        ),
        ...failureAnswers(batchRefusals),
      },
    },
    onRequest: accountStreams.authenticate(),
    handler: async (request, reply) => {
      const batch = await findBatch(callerOf(request).account.id, request.params.id, deps);
      return accountStreams.open(request, reply, (stream) => {
        const progress = new BatchProgress(batch, { stream, now });
        return {
          onChange: (event) => progress.change(event),
          prepare: async () => progress.begin(await itemsOf(batch, deps)),
          onStart: () => progress.start(),
        };
      });
    },
  });
}

interface ZipRouteDeps {
  readonly store: FileStore;
  readonly batchMetrics: BatchMetrics;
}

/** Maximum number of archives that a front sends concurrently: to all accounts, and to one account. */
const maxZips = { ofAll: 16, ofAccount: 2 };
const zipRetrySeconds = 10;

function zipRoute(app: FastifyInstance, deps: BatchReadDeps & ZipRouteDeps): void {
  const { authenticator, store, batchMetrics, now } = deps;
  /** Accounts of the archives that are being sent. */
  const sending: string[] = [];
  app.get<{ Params: { id: string } }>('/batches/:id/zip', {
    exposeHeadRoute: false,
    schema: {
      operationId: 'getBatchZip',
      tags: ['captures'],
      summary: 'Download the files of a batch',
      description: `Requires the scope read. A zip archive of the files of all captures that have completed so far, named by index and UUID, and of manifest.json, which lists all captures with their errors. The files are not compressed further. A front sends at most ${maxZips.ofAccount} archives of an account at once.`,
      security: [{ apiKey: [] }],
      params: batchParams,
      response: {
        200: {
          description: 'The archive.',
          headers: { 'content-disposition': { type: 'string', description: '"attachment", with a file name.' } },
          content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } },
        },
        ...failureAnswers([...batchRefusals, 'QUEUE_FULL']),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    handler: async (request, reply) => {
      const account = callerOf(request).account.id;
      const batch = await findBatch(account, request.params.id, deps);
      const items = await itemsOf(batch, deps);
      if (sending.length >= maxZips.ofAll || sending.filter((each) => each === account).length >= maxZips.ofAccount) {
        batchMetrics.zip('refused');
        const message = 'Too many archives are being sent. Send the request again when another has been received.';
        throw new RetryLaterError('QUEUE_FULL', message, zipRetrySeconds, { causedBy: 'client' });
      }
      const gone = clientGone(reply);
      const archive = zipOf(batchSummary(batch, items, now()), items, { store, clientGone: gone });
      sending.push(account);
      archive.once('close', () => {
        sending.splice(sending.indexOf(account), 1);
        batchMetrics.zip(archive.readableEnded ? 'sent' : gone.aborted ? 'client_gone' : 'failed');
      });
      disconnectWhenStalled(reply);
      return reply
        .headers({
          ...containment,
          'content-type': 'application/zip',
          'content-disposition': `attachment; filename="batch-${batch.uuid}.zip"`,
          'cache-control': 'no-store',
        })
        .send(archive);
    },
  });
}
