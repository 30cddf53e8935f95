import { mcpTools } from '@webcapture/shared/api/mcp-tools.ts';
import type { FastifyInstance } from 'fastify';

interface Operation {
  readonly summary?: string;
}

/**
 * GET /llms.txt (llmstxt.org) describes the service for language models. The text is made from the OpenAPI document and the list of tools.
 */
export function llmsRoute(app: FastifyInstance, publicUrl: string): void {
  let text: string | undefined;
  app.get('/llms.txt', {
    schema: {
      operationId: 'getLlmsTxt',
      tags: ['meta'],
      summary: 'Describe the service for language models',
      description: 'What the service is, its endpoints, and the tools of POST /mcp. Needs no API key.',
      response: {
        200: {
          description: 'Markdown, as llmstxt.org describes it.',
          content: { 'text/plain': { schema: { type: 'string' } } },
        },
      },
    },
    handler: async (_request, reply) =>
      reply
        .headers({ 'cache-control': 'no-cache', 'access-control-allow-origin': '*' })
        .type('text/plain; charset=utf-8')
        .send((text ??= describeService(app.swagger() as OpenApi, publicUrl))),
  });
}

interface OpenApi {
  readonly info: { readonly title: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

function describeService({ info, paths }: OpenApi, publicUrl: string): string {
  const endpoints = Object.entries(paths)
    .filter(([path]) => !path.startsWith('/admin/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { summary = '' }]) => `- ${method.toUpperCase()} ${path}: ${summary}`),
    );
  return [
    `# ${info.title}`,
    '',
    `> ${info.description ?? ''}`,
    '',
    'Every request for a capture needs an API key: `Authorization: Bearer <API_KEY>`. The address of the service is',
    `${publicUrl}.`,
    '',
    '## Documentation',
    '',
    `- [OpenAPI document](${publicUrl}/openapi.json): every field, status and error, with examples`,
    `- [Reference](${publicUrl}/docs): the reference as a page`,
    `- [Status](${publicUrl}/status): state of the service and its regions`,
    `- [Status page](${publicUrl}/status.html): the status as a page, with the incidents of 90 days`,
    `- [Dashboard](${publicUrl}/dashboard/): captures, usage and keys in a browser, after signing in with an API key`,
    '',
    '## Model Context Protocol',
    '',
    `The address of the MCP server is ${publicUrl}/mcp (streamable HTTP, with the same API keys). Its tools:`,
    '',
    ...mcpTools.map(({ name, description }) => `- ${name}: ${description}`),
    '',
    '## Endpoints',
    '',
    ...endpoints,
    '',
  ].join('\n');
}
