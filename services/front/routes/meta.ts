import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { example, plainAnswer } from '../openapi/answers.ts';
import { interfaceVersion } from '../openapi/document.ts';

/** The page holds all that it shows: it loads nothing from elsewhere, and can send requests to this service only. */
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
  document: example('Its beginning', { openapi: '3.1.0', info: { title: 'webcapture', version: interfaceVersion } }),
};

/** GET /openapi.json, the page at /docs to read and try it, and / which leads there. */
export async function metaRoutes(app: FastifyInstance): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: docsPolicy,
    // The bar at the top holds a logo and a field for other documents, which the policy would not load.
    theme: {
      title: 'webcapture',
      css: [{ filename: 'webcapture.css', content: '.swagger-ui .topbar { display: none }' }],
    },
    uiConfig: { deepLinking: true, tryItOutEnabled: true, validatorUrl: null },
    // Tried out is the address that the page itself was loaded from, whatever name it has in the browser.
    transformSpecification: (document) => ({ ...document, servers: [{ url: '..' }] }),
  });

  app.get('/openapi.json', {
    schema: {
      operationId: 'getOpenapi',
      tags: ['meta'],
      summary: 'This document',
      response: { 200: plainAnswer('The OpenAPI 3.1 document of the interface.', { type: 'object' }, documentExample) },
    },
    handler: async (_request, reply) =>
      reply.headers({ 'cache-control': 'no-cache', 'access-control-allow-origin': '*' }).send(app.swagger()),
  });

  // Relative, so that it works behind a proxy that adds a path.
  app.get('/', { schema: { hide: true }, handler: async (_request, reply) => reply.redirect('docs') });
}
