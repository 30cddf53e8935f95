import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { noticesDocument } from './notices.ts';

/** The version of the interface; paths carry none. */
export const interfaceVersion = '1.0.0';

/** The frame of the OpenAPI document; the routes' own schemas fill it. */
export function documentOptions(publicUrl: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'webcapture',
        version: interfaceVersion,
        description:
          'Renders a web page, or supplied HTML, in a headless browser and returns a PNG, JPEG, WebP or PDF. Every JSON answer but those of the status endpoints is an envelope of success, error and data.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags: [
        { name: 'captures', description: 'Make captures and look after them.' },
        {
          name: 'account',
          description: 'The keys, the webhook secret and the usage of the account that a key belongs to.',
        },
        { name: 'files', description: 'The files themselves; whoever knows a name may read it.' },
        { name: 'status', description: 'The health of the service, for people and status pages.' },
        { name: 'admin', description: 'For the operator: accounts and their keys. Not there without an admin token.' },
        { name: 'meta', description: 'The interface about itself.' },
      ],
      webhooks: noticesDocument,
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'The API key of an account.' },
          adminToken: { type: 'http', scheme: 'bearer', description: 'The admin token of the operator.' },
        },
      },
    },
    transform: ({ schema, url, route }) => ({ schema: withExamples(forDocument(schema), route.config), url }),
  };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Examples of the request body, for the document: the validator knows no such keyword. */
    readonly requestExamples?: object;
  }
}

function withExamples<T extends { body?: unknown }>(schema: T, config: { requestExamples?: object } | undefined): T {
  if (config?.requestExamples === undefined || typeof schema.body !== 'object') return schema;
  return { ...schema, body: { ...schema.body, 'x-examples': config.requestExamples } };
}

/**
 * A field with a default may be left out, which `required` does not show: to the validator it is there, filled in before
 * it looks. The document shows the client's side.
 */
function forDocument<T>(value: T): T {
  if (Array.isArray(value)) return value.map(forDocument) as T;
  if (value === null || typeof value !== 'object') return value;
  const copy: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(value)) copy[key] = forDocument(child);
  const { required, properties } = value as { required?: unknown; properties?: Record<string, object> };
  if (Array.isArray(required) && properties !== undefined) {
    const needed = required.filter((name: string) => !Object.hasOwn(properties[name] ?? {}, 'default'));
    if (needed.length > 0) copy['required'] = needed;
    else delete copy['required'];
  }
  return copy as T;
}
