import { mcpTools } from '@webcapture/shared/api/mcp-tools.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { example, failureAnswers } from '../../api/answers.ts';
import { maxOpenBytes } from '../../api/capture-body.ts';
import { setCaptureHeaders } from '../../api/capture.ts';
import { clientGone } from '../../http/request-facts.ts';
import { explainErrors } from '../../validation/explain-errors.ts';
import type { McpToolsDeps, ToolCall } from './tools.ts';

export interface McpDeps extends McpToolsDeps {
  /** Address of the service as clients see it. */
  readonly publicUrl: string;
}

/**
 * POST /mcp: the Model Context Protocol over streamable HTTP, revision 2026-07-28 and earlier. It has no sessions: each
 * request is independent, so that any front can answer it with one JSON message.
 */
export function mcpRoute(app: FastifyInstance, deps: McpDeps): void {
  const { authenticator, publicUrl } = deps;
  const { origin } = new URL(publicUrl);
  app.post('/mcp', {
    schema: mcpDocument,
    // The hook below refuses pages of other origins.
    config: { requestExamples, shedsLoad: true, cors: false },
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainErrors(errors, messageSchema)),
    onRequest: async ({ headers, facts }) => {
      // The specification requires this check against DNS rebinding. A browser sends the origin of the page; other clients send no Origin.
      if (headers.origin !== undefined && headers.origin !== origin) {
        throw new ServiceError('FORBIDDEN', 'Pages of this origin are not allowed to use this service.');
      }
      // Each tool checks the scope that it needs.
      facts.caller = await authenticator.authenticate(headers.authorization, null);
      facts.isMessage = true;
    },
    preValidation: async ({ body, facts }) => {
      const isLarge = (facts.body?.length ?? 0) > maxOpenBytes;
      if (isLarge && (body as { method?: unknown } | null)?.method !== 'tools/call') {
        throw new ServiceError(
          'VALIDATION_ERROR',
          `A message of a method other than tools/call must have at most ${maxOpenBytes} bytes.`,
        );
      }
    },
    handler: async (request, reply) => {
      const call: ToolCall = {
        authorization: request.headers.authorization,
        facts: request.facts,
        clientGone: clientGone(reply),
        validate: (schema, value) => validate(request, schema, value),
        log: request.log,
      };
      // Imported with the first message, because the library has 100 modules.
      const { answerMessage } = await import('./answer-message.ts');
      const webRequest = toWebRequest(request, publicUrl, call.clientGone);
      const response = await answerMessage(webRequest, request.body, { call, deps });
      setCaptureHeaders(reply, request.facts);
      return sendResponse(reply, response);
    },
  });
}

/** Validates a value like the body of a route. */
function validate(request: FastifyRequest, schema: object, value: unknown): void {
  const check = request.compileValidationSchema(schema as Record<string, unknown>);
  if (check(value) === false) {
    throw new ServiceError('VALIDATION_ERROR', explainErrors(check.errors ?? [], schema));
  }
}

function toWebRequest({ headers }: FastifyRequest, publicUrl: string, signal: AbortSignal): Request {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return new Request(new URL('mcp', `${publicUrl}/`), {
    method: 'POST',
    // All clients get JSON, regardless of the Accept header.
    headers: { ...Object.fromEntries(entries), accept: 'application/json, text/event-stream' },
    signal,
  });
}

async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const body = await response.text();
  const type = response.headers.get('content-type');
  void reply.code(response.status).header('cache-control', 'no-store');
  if (type !== null) void reply.type(type);
  return reply.send(body === '' ? undefined : body);
}

/** One message. Batches have been removed from the protocol, and would circumvent the limits of requests. */
const messageSchema = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
    method: Type.String({ description: 'initialize, tools/list or tools/call, among others.' }),
    params: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { additionalProperties: false, description: 'One JSON-RPC message of the Model Context Protocol.' },
);

const answerSchema = {
  type: 'object',
  required: ['jsonrpc'],
  properties: { jsonrpc: { const: '2.0' }, id: {}, result: { type: 'object' }, error: { type: 'object' } },
};

const captureArguments = { url: 'https://example.com/', isFullPage: true };

const requestExamples = {
  list: example('List the tools', { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  capture: example('Capture a page', {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name: 'capture_page', arguments: captureArguments },
  }),
};

const failures = failureAnswers([
  'VALIDATION_ERROR',
  'UNAUTHORIZED',
  'API_KEY_EXPIRED',
  'API_KEY_REVOKED',
  'FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'QUEUE_FULL',
  'INTERNAL_ERROR',
]);

const messageAnswer = (description: string, examples: object) => ({
  description,
  content: { 'application/json': { schema: answerSchema, examples } },
});

/** The OpenAPI description of POST /mcp. */
const mcpDocument = {
  operationId: 'mcp',
  tags: ['agents'],
  summary: 'Model Context Protocol',
  description: `The Model Context Protocol over streamable HTTP, for agents: one JSON-RPC message in, one out, without sessions. Tools: ${mcpTools.map(({ name }) => name).join(', ')}. A tool that fails returns a result with isError, whose text begins with an error code. Captures cost the same tokens, and have the same limits, as those of POST /capture.`,
  security: [{ apiKey: [] }],
  body: messageSchema,
  response: {
    200: messageAnswer('The response to the message.', {
      ping: example('An empty result', { jsonrpc: '2.0', id: 1, result: {} }),
    }),
    202: { description: 'The message was a notification.', type: 'null' },
    ...failures,
    400: withMessages(failures[400]),
    404: messageAnswer('The protocol has no such method.', {
      method: example('No such method', {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32_601, message: 'Method not found' },
      }),
    }),
  },
};

/** Status 400 is used for failures of this service and for errors of the protocol. */
function withMessages(answer: ReturnType<typeof failureAnswers>[number] | undefined) {
  const { schema, examples } = answer?.content?.['application/json'] ?? {};
  return {
    ...answer,
    description: `${answer?.description} Or a JSON-RPC error: the body is not a valid MCP message.`,
    content: { 'application/json': { schema: { anyOf: [schema, answerSchema] }, examples } },
  };
}
