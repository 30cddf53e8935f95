import type { FastifyInstance } from 'fastify';
import { type Diagnostics, diagnosticsSchema } from '@webcapture/shared/api/diagnostics.ts';
import { type DiagnosticsQuery, diagnosticsQuerySchema } from '@webcapture/shared/api/diagnostics-query.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { hasDiagnostics } from '@webcapture/shared/captures/view.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { readDiagnostics } from '@webcapture/shared/files/read-diagnostics.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { type ReadStateDeps, readState } from '../capture/capture-state.ts';
import { harOf } from '../capture/har.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { queryOf } from '../validation/input.ts';
import { captureParams, captureRefusals, example, failureAnswers, sendData, successAnswer } from './answers.ts';
import { diagnosticsExample } from './capture-examples.ts';
import { containment } from './send-file.ts';

export interface DiagnosticsDeps extends ReadStateDeps {
  readonly authenticator: Authenticator;
  readonly store: FileStore;
}

const readTimeoutMs = 10_000;

/** Maximum number of concurrent reads. Each takes some MiB of memory and costs no token. */
const semaphore = new Semaphore(4);

const refusals = failureAnswers(['VALIDATION_ERROR', ...captureRefusals, 'NOT_FOUND', 'STORAGE_FAILED']);

/** GET /captures/{uuid}/diagnostics and /captures/{uuid}/diagnostics/picture. */
export function diagnosticsRoutes(app: FastifyInstance, deps: DiagnosticsDeps): void {
  const onRequest = authenticateFirst(deps.authenticator, 'read');
  app.get<{ Params: { uuid: string }; Querystring: DiagnosticsQuery }>('/captures/:uuid/diagnostics', {
    schema: {
      operationId: 'getDiagnostics',
      tags: ['captures'],
      summary: 'Get the diagnostics of a capture',
      description:
        'Requires the scope read. Returns the console messages, requests, steps and waits of the latest rendering of the capture. Captures that failed in the browser have diagnostics, and captures with diagnostics: true; others return 404. With format har, the response is an HTTP Archive (HAR 1.2) without an envelope.',
      security: [{ apiKey: [] }],
      params: captureParams,
      querystring: diagnosticsQuerySchema,
      response: {
        200: successAnswer('The diagnostics.', diagnosticsSchema, {
          failed: example('A capture that failed', success(diagnosticsExample)),
        }),
        ...refusals,
      },
    },
    onRequest,
    ...queryOf(diagnosticsQuerySchema),
    // An HTTP Archive has no envelope.
    serializerCompiler: () => (data) => JSON.stringify(data),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const record = await readState(deps, account.id, request.params.uuid);
      request.facts.record = record;
      const { diagnostics } = await read(record, deps);
      if (request.query.format !== 'har') return sendData(reply, diagnostics);
      return reply
        .headers({
          'cache-control': 'no-store',
          'content-disposition': `attachment; filename="capture-${record.uuid}.har"`,
        })
        .send(harOf(diagnostics));
    },
  });
  app.get<{ Params: { uuid: string } }>('/captures/:uuid/diagnostics/picture', {
    schema: {
      operationId: 'getLastPicture',
      tags: ['captures'],
      summary: 'Get the last picture of a failed capture',
      description:
        'Requires the scope read. Returns what the page showed when its capture failed: a JPEG of at most 1280 pixels on a side. Returns 404 when diagnostics.picture is null.',
      security: [{ apiKey: [] }],
      params: captureParams,
      response: {
        200: {
          description: 'The picture.',
          content: { 'image/jpeg': { schema: { type: 'string', format: 'binary' } } },
        },
        ...refusals,
      },
    },
    onRequest,
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const record = await readState(deps, account.id, request.params.uuid);
      request.facts.record = record;
      const { picture } = await read(record, deps);
      if (picture === null) throw new ServiceError('NOT_FOUND', 'The diagnostics of the capture have no picture.');
      return reply.headers({ ...containment, 'cache-control': 'no-store', 'content-type': 'image/jpeg' }).send(picture);
    },
  });
}

async function read(
  record: CaptureRecord,
  { store, now }: DiagnosticsDeps,
): Promise<{ readonly diagnostics: Diagnostics; readonly picture: Buffer | null }> {
  const { uuid, status, expiresAt, diagnostics: file } = record;
  if (file === undefined || !hasDiagnostics(record, now())) {
    throw new ServiceError(
      'NOT_FOUND',
      'The capture has no diagnostics. A capture has them if it failed in the browser, or if its request has diagnostics: true, until its file expires.',
    );
  }
  try {
    const { diagnostics, picture } = await semaphore.run(() =>
      readDiagnostics(store, file.name, { deadline: now() + readTimeoutMs }),
    );
    const end = status === 'completed' ? expiresAt : file.expiresAt;
    const about = { uuid, refresh: file.revision, expiresAt: new Date(end).toISOString() };
    return { diagnostics: { ...about, ...diagnostics }, picture };
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError('STORAGE_FAILED', 'The diagnostics of the capture cannot be read.', { cause });
  }
}
