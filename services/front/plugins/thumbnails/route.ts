import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { type ThumbnailQuery, thumbnailQuerySchema, thumbnailWidths } from '@webcapture/shared/api/thumbnail.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { retryIfReplaced } from '@webcapture/shared/files/file-store.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import { type ReadStateDeps, readState } from '../../capture/capture-state.ts';
import { authenticateFirst, callerOf, clientGone } from '../../http/request-facts.ts';
import { queryOf } from '../../validation/input.ts';
import { captureParams, captureRefusals, failureAnswers } from '../../api/answers.ts';
import { containment, isNotModified } from '../../api/send-file.ts';
import {
  createScaledPictureMetrics,
  ScaledPictures,
  type ScaledPicturesDeps,
  type WantedPicture,
} from './scaled-pictures.ts';

interface PicturesDeps extends Omit<ScaledPicturesDeps, 'metrics'> {
  readonly registry: Registry;
}

export interface ThumbnailDeps extends ReadStateDeps {
  readonly authenticator: Authenticator;
  readonly pictures: ScaledPictures;
}

type ThumbnailRoute = { Params: { uuid: string }; Querystring: ThumbnailQuery };
type ThumbnailRequest = FastifyRequest<ThumbnailRoute>;

/** Cuts tall pages off below an aspect ratio of 2:3, because the whole page would be a thin line. */
const thumbnail = (width: number): WantedPicture => ({ maxWidth: width, maxAspect: 1.5, type: 'webp' });

/** Upper bound for thumbnails of files that are never replaced. Caches could keep them longer, but requesting them again is cheap. */
const maxAgeSeconds = 3600;

/** Creates the object that scales the pictures of an application: thumbnails, and pictures for agents. */
export function createPictures(app: FastifyInstance, { store, registry, now, log }: PicturesDeps): ScaledPictures {
  const pictures = new ScaledPictures({ store, now, metrics: createScaledPictureMetrics(registry), log });
  app.addHook('onClose', async () => pictures.close());
  return pictures;
}

/** GET /captures/{uuid}/thumbnail. */
export function thumbnailRoute(app: FastifyInstance, deps: ThumbnailDeps): void {
  const { authenticator, pictures, now } = deps;
  const answer = async (request: ThumbnailRequest, reply: FastifyReply, record: CaptureRecord, gone: AbortSignal) => {
    const width = thumbnailWidths.find((each) => each >= request.query.width) ?? request.query.width;
    const file = await pictures.fileOf(record);
    const { storedAt, expiresAt, cacheSeconds = maxAgeSeconds } = file;
    const etag = `${file.etag}-${width}`;
    const secondsLeft = Math.max(0, Math.floor((expiresAt - now()) / 1000));
    const cacheHeaders = {
      etag: `W/"${etag}"`,
      'cache-control': `private, max-age=${Math.min(secondsLeft, cacheSeconds, maxAgeSeconds)}`,
      // A cached thumbnail must not be shown to the next user of the same browser.
      vary: [reply.getHeader('vary') ?? [], 'Authorization'].flat().join(', '),
    };
    if (isNotModified({ 'if-none-match': request.headers['if-none-match'] }, { etag, storedAt })) {
      return reply.code(304).headers(cacheHeaders).send();
    }
    const { picture } = await pictures.scale(file, thumbnail(width), { account: record.account, clientGone: gone });
    return reply.headers({ ...containment, ...cacheHeaders, 'content-type': 'image/webp' }).send(picture);
  };
  app.get<ThumbnailRoute>('/captures/:uuid/thumbnail', {
    schema: {
      operationId: 'getThumbnail',
      tags: ['captures'],
      summary: 'Get a thumbnail of a capture',
      description:
        'Requires the scope read. Returns a small WebP of the file of a completed capture. It is never larger than the file. A picture that is more than one and a half times as tall as it is wide is cut off at the bottom. Returns 404 when there is no file (the capture is not completed, was deleted, or has expired), and for a PDF.',
      security: [{ apiKey: [] }],
      params: captureParams,
      querystring: thumbnailQuerySchema,
      response: {
        200: {
          description: 'The thumbnail.',
          headers,
          content: { 'image/webp': { schema: { type: 'string', format: 'binary' } } },
        },
        304: { description: 'The client already has the current thumbnail.', headers, type: 'null' },
        ...failureAnswers(['VALIDATION_ERROR', ...captureRefusals, 'NOT_FOUND', 'QUEUE_FULL', 'STORAGE_FAILED']),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    ...queryOf(thumbnailQuerySchema),
    // All values in a query string are strings, and the validator does not convert them.
    preValidation: async (request: { query: unknown }) => {
      const query = request.query as Record<string, unknown>;
      const { width } = query;
      if (typeof width === 'string' && /^\d{1,9}$/.test(width)) query['width'] = Number(width);
    },
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const record = await readState(deps, account.id, request.params.uuid);
      request.facts.record = record;
      const gone = clientGone(reply);
      try {
        return await retryIfReplaced(() => answer(request, reply, record, gone));
      } catch (error) {
        if (gone.aborted) return reply.hijack();
        throw error;
      }
    },
  });
}

const text = (description: string) => ({ type: 'string', description });

const headers = {
  etag: text('A weak validator of the thumbnail.'),
  'cache-control': text('Private. Caching ends when the file expires, and earlier for a file that may be refreshed.'),
};
