import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { clientSchema } from '@webcapture/shared/api/client-schema.ts';
import {
  type BatchPayload,
  batchPayloadSchema,
  type TestPayload,
  testPayloadSchema,
  webhookPayloadSchema,
  type WebhookPayload,
} from '@webcapture/shared/api/webhook-event.ts';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { endedBatchExample } from '../batches/examples.ts';
import { example, plainAnswer } from './answers.ts';
import { nameSchemas } from './components.ts';
import { changedExample, failedExample, resultExample } from './capture-examples.ts';

/** Version of the API. The paths contain no version. */
export const interfaceVersion = '1.0.0';

/** The page contains everything that it shows. It loads nothing from other origins and sends requests only to this service. */
const docsPolicy = {
  'default-src': "'none'",
  'script-src': "'self'",
  // The page sets the sizes of its icons by style attributes.
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data: blob:",
  'font-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'self'",
};

const documentExample = {
  document: example('First lines of the document', {
    openapi: '3.1.0',
    info: { title: 'webcapture', version: interfaceVersion },
  }),
};

const health = { status: 'ok' };
const healthSchema = {
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string', const: health.status } },
};

/** GET /openapi.json, its page at /docs, a redirect from / to /docs, and GET /healthz for load balancers. */
export async function metaRoutes(app: FastifyInstance): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: docsPolicy,
    // The bar at the top contains a logo and a field for other documents, which the policy would block.
    theme: {
      title: 'webcapture',
      css: [{ filename: 'webcapture.css', content: '.swagger-ui .topbar { display: none }' }],
    },
    uiConfig: { deepLinking: true, tryItOutEnabled: true, validatorUrl: null },
    // Requests go to the address that the page was loaded from, even if it is not the public URL.
    transformSpecification: (document) => ({ ...document, servers: [{ url: '..' }] }),
  });

  app.get('/openapi.json', {
    schema: {
      operationId: 'getOpenapi',
      tags: ['meta'],
      summary: 'Get this OpenAPI document',
      description: 'OpenAPI 3.1, for generators of clients and for tools. GET /docs shows it to people.',
      response: { 200: plainAnswer('The OpenAPI 3.1 document of the API.', { type: 'object' }, documentExample) },
    },
    handler: async (_request, reply) =>
      reply.headers({ 'cache-control': 'no-cache', 'access-control-allow-origin': '*' }).send(app.swagger()),
  });

  // Checks only this process. If it reported the state of the service, a load balancer would remove all fronts at once, and clients would
  // not receive the responses that explain the problem.
  app.get('/healthz', {
    // A load balancer calls this route every few seconds.
    logLevel: 'warn',
    schema: {
      operationId: 'getHealthz',
      tags: ['meta'],
      summary: 'Check that this front answers',
      description:
        'For health checks of load balancers: returns 200 while the front can answer, independent of the state of the service. It needs no key and has no rate limit. GET /status returns the state of the service.',
      response: { 200: plainAnswer('The front answers.', healthSchema, { ok: example('It answers', health) }) },
    },
    handler: async (_request, reply) => reply.header('cache-control', 'no-store').send(health),
  });

  // The address is relative, so that it works behind a proxy that adds a path.
  app.get('/', { schema: { hide: true }, handler: async (_request, reply) => reply.redirect('docs') });
}

/** The general part of the OpenAPI document. The schemas of the routes are added to it. */
export function documentOptions(publicUrl: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'webcapture',
        version: interfaceVersion,
        description:
          'Renders a web page, or supplied HTML, in a headless browser and returns a PNG, JPEG, WebP or PDF. Every JSON response, except those of the status endpoints and this document, is an envelope with the fields success, error and data.',
        // The contact is the operator of this installation.
        contact: { name: 'Operator of this service', url: `${publicUrl}/docs` },
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags: [
        { name: 'captures', description: 'Create and manage captures.' },
        {
          name: 'account',
          description: 'API keys, webhook secret and usage of the account that the API key belongs to.',
        },
        { name: 'agents', description: 'For agents: the Model Context Protocol.' },
        { name: 'files', description: 'Files of captures. Anyone who knows the name of a file can read it.' },
        { name: 'status', description: 'Health of the service, for status pages.' },
        {
          name: 'admin',
          description:
            'Accounts and their API keys, for operators. These endpoints return 404 when no admin token is configured.',
        },
        { name: 'meta', description: 'Description of the API.' },
      ],
      webhooks: webhooksDocument,
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'API key of an account.' },
          adminToken: { type: 'http', scheme: 'bearer', description: 'Admin token of the operator.' },
          signedLink: {
            type: 'apiKey',
            in: 'query',
            name: 'signature',
            description:
              'Signature of a link: HMAC-SHA256 of all other parameters in lower-case hex, with the signing secret of the API key in the parameter key.',
          },
        },
      },
    },
    transform: ({ schema, url, route }) => ({ schema: withDocument(clientSchema(schema), route.config), url }),
    transformObject: completed,
  };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Examples of the request body for the OpenAPI document. The validator does not accept them in the schema. */
    readonly requestExamples?: object;
    /** JSON schema of the query for the OpenAPI document, if the validator does not use it. */
    readonly queryDocument?: object;
    /** JSON schema of the headers for the OpenAPI document, if the validator does not use it. */
    readonly headersDocument?: object;
    /** Whether the body may be omitted. By default, a route with a body schema requires a body. */
    readonly isBodyOptional?: boolean;
  }
}

/** Marks an operation with an optional body until the document is complete. */
const optionalBody = 'x-optional-body';

function withDocument<T extends { body?: unknown }>(schema: T, config: FastifyContextConfig = {}): T {
  const { requestExamples, queryDocument, headersDocument, isBodyOptional } = config;
  const document = {
    ...schema,
    ...(queryDocument === undefined ? {} : { querystring: queryDocument }),
    ...(headersDocument === undefined ? {} : { headers: headersDocument }),
    ...(isBodyOptional === true ? { [optionalBody]: true } : {}),
  };
  if (requestExamples === undefined || typeof schema.body !== 'object') return document;
  return { ...document, body: { ...schema.body, 'x-examples': requestExamples } };
}

function completed(document: Parameters<NonNullable<FastifyDynamicSwaggerOptions['transformObject']>>[0]) {
  if (!('openapiObject' in document)) throw new TypeError('the document is not OpenAPI 3');
  const { openapiObject } = document;
  markOptionalBodies(openapiObject);
  nameSchemas(openapiObject as Parameters<typeof nameSchemas>[0]);
  return openapiObject;
}

/** Marks optional bodies as optional in the document, because @fastify/swagger marks every body with a schema as required. */
function markOptionalBodies(openapiObject: { readonly paths?: object }): void {
  const operations = Object.values(openapiObject.paths ?? {}).flatMap((methods) => Object.values(methods ?? {}));
  for (const operation of operations as { requestBody?: { required?: boolean }; [optionalBody]?: boolean }[]) {
    if (operation[optionalBody] !== true || operation.requestBody === undefined) continue;
    operation.requestBody.required = false;
    delete operation[optionalBody];
  }
}

const timestamp = '2025-08-19T09:30:01.432Z';

const examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>> = {
  completed: eventExample('A capture completed', { type: 'capture.completed', timestamp, data: resultExample }),
  failed: eventExample('A capture failed', { type: 'capture.failed', timestamp, data: failedExample }),
  refreshed: eventExample('A capture was refreshed', { type: 'capture.refreshed', timestamp, data: resultExample }),
  changed: eventExample('A refresh has changed the picture', {
    type: 'capture.changed',
    timestamp,
    data: changedExample,
  }),
};

const { captures: _captures, ...endedBatch } = endedBatchExample;

const ended: BatchPayload = { type: 'batch.completed', timestamp, data: endedBatch };

const test: TestPayload = { type: 'webhook.test', timestamp, data: { url: 'https://app.example.com/hook' } };

const header = (name: string, description: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
});

const eventHeaders = [
  header('webhook-id', 'ID of the event, the same in all delivery attempts.'),
  header(
    'webhook-timestamp',
    'Time of this delivery attempt in Unix seconds. Reject requests that are older than five minutes.',
  ),
  header(
    'webhook-signature',
    '"v1," followed by the base64-encoded HMAC-SHA256 of "id.timestamp.body". Contains several signatures, separated by spaces, while a rotated secret is still valid.',
  ),
];

/** Requests that the service sends to `webhook.url`: the section `webhooks` of the document. */
const webhooksDocument = {
  capture: {
    post: {
      operationId: 'captureNotice',
      tags: ['captures'],
      summary: 'Event of a capture',
      description:
        'Sent to webhook.url and signed according to Standard Webhooks (standardwebhooks.com); GET /webhooks/secret returns the secret. A delivery attempt fails unless the receiver responds with a 2xx status within 10 seconds; a redirect is a failure. There are up to eight attempts over 24 hours; the status 410 ends them. An event may be delivered more than once, and events may arrive out of order.',
      parameters: eventHeaders,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: webhookPayloadSchema as object, examples } },
      },
      responses: {
        '2XX': { description: 'The event was received.' },
        410: { description: 'The receiver wants no further attempts for this event.' },
      },
    },
  },
  batch: {
    post: {
      operationId: 'batchNotice',
      tags: ['captures'],
      summary: 'End of a batch',
      description:
        'Sent to webhook.url of POST /captures/batch when all captures of the batch have ended, and signed and repeated like the events of captures. GET /batches/{id} returns the captures.',
      parameters: eventHeaders,
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: batchPayloadSchema as object,
            examples: { completed: example('A batch has ended', ended) },
          },
        },
      },
      responses: {
        '2XX': { description: 'The event was received.' },
        410: { description: 'The receiver wants no further attempts for this event.' },
      },
    },
  },
  test: {
    post: {
      operationId: 'testNotice',
      tags: ['account'],
      summary: 'Test event',
      description:
        'Sent once to the URL in POST /webhooks/test, and signed like the events of captures. Receivers that know only those should respond with a 2xx status to types that they do not know.',
      parameters: eventHeaders,
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: testPayloadSchema as object,
            examples: { test: example('A test event', test) },
          },
        },
      },
      responses: { '2XX': { description: 'The event was received.' } },
    },
  },
};

function eventExample(summary: string, value: WebhookPayload) {
  return example(summary, value);
}
