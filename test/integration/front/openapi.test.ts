import { Validator } from '@seriousme/openapi-schema-validator';
import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import { webhookEvents } from '@webcapture/shared/api/webhook.ts';
import { errorCodes } from '@webcapture/shared/runtime/errors.ts';
import { openApiDocument } from '../../../deploy/docs/openapi-document.ts';
import { components } from '../../../services/front/api/components.ts';
import { buildAppAlone } from './app-alone.ts';

interface Media {
  readonly schema: object;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly security?: readonly object[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}
interface Document {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let app: FastifyInstance;
let document: Document;
beforeAll(async () => {
  app = await buildAppAlone();
  document = (await app.inject('/openapi.json')).json();
  ajv.addSchema(document, 'document');
});

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
(addFormats as unknown as typeof addFormats.default)(ajv);

/** Compiles a schema of the document, whose references point into the document. */
const validatorOf = (schema: object) =>
  ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')) as object);

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

test('the document is valid OpenAPI 3.1 of version 1.0.0', async () => {
  expect(await new Validator().validate(document as unknown as Record<string, unknown>)).toEqual({ valid: true });
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.info).toMatchObject({ title: 'webcapture', version: '1.0.0' });
  expect(document.servers).toEqual([{ url: 'https://capture.test/api' }]);
});

test('the document follows all rules of Spectral', { tags: 'long' }, async () => {
  const linter = new spectral.Spectral();
  const ruleset = {
    extends: [[rulesets.oas, 'all']],
    // Two rules are disabled: tags are in the order of use, and the email address of the operator is not known.
    rules: { 'openapi-tags-alphabetical': 'off', 'contact-properties': 'off' },
  };
  // The types of Spectral lack rulesets with a mode.
  linter.setRuleset(ruleset as unknown as Parameters<typeof linter.setRuleset>[0]);
  const problems = await linter.run(JSON.stringify(await openApiDocument()));
  expect(problems.map(({ code, path, message }) => `${path.join('.')}: ${message} (${code})`)).toEqual([]);
});

test('the document contains every route', () => {
  expect(operations().map(({ path, method }) => `${method} ${path}`)).toEqual([
    'post /capture',
    'get /capture',
    'head /capture',
    'post /captures/batch',
    'post /sessions',
    'get /sessions',
    'post /pdf/merge',
    'post /mcp',
    'get /captures',
    'get /captures/{uuid}',
    'delete /captures/{uuid}',
    'get /captures/{uuid}/history',
    'post /captures/{uuid}/refresh',
    'get /sessions/{id}',
    'delete /sessions/{id}',
    'get /batches/{id}',
    'get /batches/{id}/events',
    'get /batches/{id}/zip',
    'get /captures/{uuid}/diagnostics',
    'get /captures/{uuid}/diagnostics/picture',
    'get /files/{name}',
    'head /files/{name}',
    'get /keys',
    'post /keys',
    'post /keys/{id}/rotate',
    'delete /keys/{id}',
    'post /keys/{id}/signing-secret',
    'get /webhooks/secret',
    'post /webhooks/secret/rotate',
    'get /webhooks/deliveries',
    'post /webhooks/test',
    'post /captures/{uuid}/webhook/redeliver',
    'get /usage',
    'get /usage/history',
    'get /events',
    'get /admin/accounts',
    'post /admin/accounts',
    'patch /admin/accounts/{id}',
    'post /admin/keys',
    'delete /admin/keys/{id}',
    'get /admin/overview',
    'get /admin/events',
    'get /admin/captures',
    'get /admin/dead-letters',
    'get /admin/usage',
    'get /status',
    'get /status/engine',
    'get /status/history.json',
    'get /status/feed.xml',
    'get /devices',
    'get /captures/{uuid}/thumbnail',
    'get /openapi.json',
    'get /healthz',
    'get /llms.txt',
  ]);
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('only routes that need a key or the admin token have a security scheme', () => {
  const open = operations().filter(({ operation }) => operation.security === undefined);
  const isOpen = ({ path }: { path: string }) => /^\/(files|status|devices|openapi|healthz|llms)/.test(path);
  expect(open.map(({ path }) => path)).toEqual(
    operations()
      .filter(isOpen)
      .map(({ path }) => path),
  );
  for (const { path, method, operation } of operations().filter((each) => !isOpen(each))) {
    const isLink = path === '/capture' && method !== 'post';
    const scheme = path.startsWith('/admin/') ? 'adminToken' : isLink ? 'signedLink' : 'apiKey';
    expect(operation.security, path).toEqual([{ [scheme]: [] }]);
  }
});

test('llms.txt names the MCP URL, its tools and every endpoint except those of operators', async () => {
  const { payload, headers } = await app.inject('/llms.txt');
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(payload).toContain('https://capture.test/api/mcp');
  expect(payload).toContain('- capture_page: ');
  for (const { path, method } of operations()) {
    expect(payload.includes(`- ${method.toUpperCase()} ${path}: `), path).toBe(!path.startsWith('/admin/'));
  }
});

test('every error code has an example in some response', () => {
  const shown = operations().flatMap(({ operation }) =>
    Object.values(operation.responses).flatMap(({ content }) =>
      Object.keys(content?.['application/json']?.examples ?? {}),
    ),
  );
  expect(errorCodes.filter((code) => !shown.includes(code))).toEqual([]);
});

test('POST /capture has the documented statuses only', () => {
  const { responses } = document.paths['/capture']?.['post'] ?? { responses: {} };
  expect(Object.keys(responses)).toEqual(['200', '400', '401', '402', '429', '500']);
});

describe('POST /capture', () => {
  const body = () => document.paths['/capture']?.['post']?.requestBody;

  test('requires a body whose fields are all optional', () => {
    expect(body()?.required).toBe(true);
    expect(body()?.content['application/json']?.schema).toEqual({ $ref: '#/components/schemas/CaptureRequest' });
    const schema = document.components.schemas['CaptureRequest'] as { properties: object; required?: unknown };
    expect(Object.keys(schema.properties)).toEqual(Object.keys(captureRequestSchema.properties));
    expect(schema.required).toBeUndefined();
    expect(validatorOf(schema)({ url: 'https://example.com/' })).toBe(true);
  });

  test('has examples of requests that the service accepts', async () => {
    const { examples = {} } = body()?.content['application/json'] ?? {};
    expect(Object.keys(examples).length).toBeGreaterThan(2);
    for (const { value } of Object.values(examples)) {
      const answer = await app.inject({ method: 'POST', url: '/capture', payload: value as object });
      expect(answer.json().error.code, JSON.stringify(value)).toBe('UNAUTHORIZED');
    }
  });
});

test('every JSON response has examples that match its schema', () => {
  for (const { path, method, operation } of operations()) {
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const media = content?.['application/json'];
      if (media === undefined) continue;
      const where = `${method} ${path} ${status}`;
      const validate = validatorOf(media.schema);
      expect(Object.keys(media.examples ?? {}).length, where).toBeGreaterThan(0);
      for (const { value } of Object.values(media.examples ?? {})) {
        expect(validate(value), `${where}: ${JSON.stringify(validate.errors)}`).toBe(true);
      }
    }
  }
});

test('schemas have the names of types, and every reference has a target', () => {
  const { schemas } = document.components;
  const refs = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref]) => ref));
  expect(refs).toEqual(new Set(Object.keys(schemas).map((name) => `#/components/schemas/${name}`)));
  expect(new Set(Object.keys(schemas))).toEqual(new Set([...Object.keys(components), 'Error', 'Failure']));
  for (const { path, method, operation } of operations()) {
    const { schema } = operation.requestBody?.content['application/json'] ?? {};
    if (path !== '/mcp' && schema !== undefined) expect(schema, `${method} ${path}`).toHaveProperty('$ref');
  }
});

test('a failure allows only the error codes of its response', () => {
  const { content } = document.paths['/capture']?.['post']?.responses['402'] ?? {};
  const validate = validatorOf(content?.['application/json']?.schema ?? {});
  const failure = (code: string) => ({ success: false, error: { code, message: 'A reason.' }, data: null });
  expect(validate(failure('QUOTA_EXCEEDED'))).toBe(true);
  expect(validate(failure('NOT_FOUND'))).toBe(false);
  expect(validate({ ...failure('QUOTA_EXCEEDED'), success: true })).toBe(false);
  expect(document.components.schemas['Error']).toMatchObject({ properties: { code: { enum: errorCodes } } });
});

test('the document describes webhook events and the headers that verify them', () => {
  const { post } = document.webhooks['capture'] ?? {};
  const media = post?.requestBody?.content['application/json'];
  expect(Object.values(media?.examples ?? {}).map(({ value }) => (value as { type: string }).type)).toEqual(
    webhookEvents,
  );
  const names = (post?.parameters ?? []).map(({ name }) => name);
  expect(names).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature']);
});

test('every request body has examples that match its schema', () => {
  const events = Object.entries(document.webhooks).map(([path, { post }]) => ({
    path,
    method: 'post',
    operation: post,
  }));
  for (const { path, method, operation } of [...operations(), ...events]) {
    const media = operation.requestBody?.content['application/json'];
    if (media === undefined) continue;
    const where = `${method} ${path}`;
    const validate = validatorOf(media.schema);
    expect(Object.keys(media.examples ?? {}).length, where).toBeGreaterThan(0);
    for (const { value } of Object.values(media.examples ?? {})) {
      expect(validate(value), `${where}: ${JSON.stringify(validate.errors)}`).toBe(true);
    }
  }
});

test('the Idempotency-Key header and the header of a replayed answer are documented', () => {
  const operation = document.paths['/capture']?.['post'] as Operation & { readonly parameters?: readonly object[] };
  expect(operation.parameters).toContainEqual(expect.objectContaining({ in: 'header', name: 'idempotency-key' }));
  expect(operation.responses['200']).toHaveProperty(['headers', 'idempotent-replayed']);
});

test('a link has a parameter for each option, by its dotted name, except for options that links exclude', () => {
  const { parameters = [] } = document.paths['/capture']?.['get'] ?? {};
  const names = parameters.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['key', 'expires', 'url', 'viewport.width', 'hide', 'waitFor.state']));
  const tops = new Set(names.map((name) => name.split('.')[0]));
  const refused = [
    'responseType',
    'background',
    'webhook',
    'persistence',
    'extract',
    'extractFields',
    'html',
    'headers',
    'headersFor',
    'cookies',
    'auth',
    'session',
    'css',
    'script',
  ];
  const options = Object.keys(captureRequestSchema.properties).filter((name) => !refused.includes(name));
  expect(tops).toEqual(new Set([...options, 'key', 'expires']));
});

test('the list of devices needs no key, is cacheable, and matches its schema', async () => {
  const response = await app.inject('/devices');
  expect(response.statusCode).toBe(200);
  expect(response.headers).toMatchObject({
    'cache-control': 'public, max-age=3600',
    'access-control-allow-origin': '*',
  });
  const { content } = document.paths['/devices']?.['get']?.responses['200'] ?? {};
  const body: { data: { devices: { name: string }[] } } = response.json();
  const validate = validatorOf(content?.['application/json']?.schema ?? {});
  expect(validate(body), ajv.errorsText(validate.errors)).toBe(true);
  expect(body.data.devices).toContainEqual({
    name: 'Desktop Chrome',
    viewport: { width: 1280, height: 720, deviceScaleFactor: 1 },
    screen: { width: 1920, height: 1080 },
    isMobile: false,
    userAgent: expect.stringMatching(/Chrome/) as string,
  });
});
