import { mimeTypes } from '@webcapture/shared/api/formats.ts';
import { type MergeRequest, mergeRequestSchema } from '@webcapture/shared/api/merge-request.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { example, failureAnswers, rateLimitHeaderSchemas } from '../../api/answers.ts';
import { captureErrorCodes, setCaptureHeaders, withRateLimitHeaders } from '../../api/capture.ts';
import { authenticateCapture } from '../../api/capture-body.ts';
import { containment, disconnectWhenStalled } from '../../api/send-file.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import { callerOf, clientGone } from '../../http/request-facts.ts';
import { explainErrors } from '../../validation/explain-errors.ts';
import { mergeCaptures, type MergeCapturesDeps } from './merge-captures.ts';
import { fillInDocuments } from './merge-rules.ts';
import { Merges, createMergeMetrics } from './merges.ts';

export interface MergeDeps extends Omit<MergeCapturesDeps, 'merges'> {
  readonly authenticator: Authenticator;
  readonly store: FileStore;
  readonly registry: Registry;
}

/** POST /pdf/merge. */
export function mergePlugin(app: FastifyInstance, { registry, ...needed }: MergeDeps): void {
  const { store, now } = needed;
  const merges = new Merges({ store, now, metrics: createMergeMetrics(registry) });
  app.addHook('onClose', async () => merges.close());
  const deps = { ...needed, merges };
  app.post<{ Body: MergeRequest }>('/pdf/merge', {
    schema: { ...mergeDocument, body: mergeRequestSchema },
    config: { requestExamples, shedsLoad: true },
    onRequest: authenticateCapture(deps.authenticator),
    preValidation: async ({ body }) => fillInDocuments(body),
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainErrors(errors, mergeRequestSchema)),
    handler: async (request, reply) => {
      const { body, facts } = request;
      const call = { body, caller: callerOf(request), clientGone: clientGone(reply) };
      const merged = await mergeCaptures(call, facts, deps).finally(() => setCaptureHeaders(reply, facts));
      if (merged === null) return reply.hijack();
      const { file, pages, uuids } = merged;
      disconnectWhenStalled(reply);
      return reply
        .headers({
          ...containment,
          'content-type': mimeTypes.pdf,
          'content-length': file.length,
          'content-disposition': 'inline; filename="merged.pdf"',
          'cache-control': 'no-store',
          'x-page-count': pages,
          'x-capture-uuids': uuids.join(', '),
        })
        .send(file);
    },
  });
}

const requestExamples = {
  captures: example('Two captures of the account', {
    documents: [
      { capture: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77' },
      { capture: '0198c2f1-02b4-7a11-8c55-1d0e6b7f9a20', title: 'Appendix' },
    ],
  }),
  report: example('A new title page before a capture of the account, encrypted', {
    documents: [
      { title: 'Title', request: { html: '<!doctype html><h1>Annual report</h1>' } },
      { capture: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77' },
      { request: { url: 'https://example.com/appendix', format: 'pdf', pdf: { landscape: true } } },
    ],
    pageLabels: 'perDocument',
    metadata: { title: 'Annual report', language: 'en' },
    encryption: { userPassword: 'for-readers', ownerPassword: 'for-us' },
  }),
};

/** The OpenAPI description of POST /pdf/merge, without the body. */
const mergeDocument = {
  operationId: 'mergePdf',
  tags: ['captures'],
  summary: 'Merge PDFs',
  description:
    'Merges captures of the account and new captures into one PDF, with a bookmark for each document, and returns it. The merged PDF is not stored. All documents are validated before the first page is captured. Each request is a capture: it costs as much as one of POST /capture, even if the merge fails, and GET /captures lists it. The message of an error names the document.',
  security: [{ apiKey: [] }],
  response: {
    200: {
      description: 'The merged PDF.',
      headers: {
        'x-page-count': { type: 'integer', description: 'Number of pages.' },
        'x-capture-uuids': {
          type: 'string',
          description: 'UUIDs of the captures in the order of the documents, separated by commas.',
        },
        'content-disposition': { type: 'string', description: '"inline", with a file name.' },
        ...rateLimitHeaderSchemas,
      },
      content: { [mimeTypes.pdf]: { schema: { type: 'string', format: 'binary' } } },
    },
    ...withRateLimitHeaders(failureAnswers([...captureErrorCodes, 'CAPTURE_NOT_FOUND'])),
  },
};
