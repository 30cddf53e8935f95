import { serviceUrl } from '../../shell/session.ts';
import { type Body, type OptionSchema, validatorOf } from './schema.ts';

interface Example {
  readonly summary: string;
  readonly value: Body;
}

/** What the document says of POST /capture. */
export interface CaptureDocument {
  readonly schema: OptionSchema;
  readonly examples: readonly Example[];
  readonly validate: (body: Body) => ReadonlyMap<string, string>;
}

/** Reads the OpenAPI document of the service that this dashboard belongs to. */
export async function loadDocument(signal: AbortSignal): Promise<CaptureDocument> {
  const response = await fetch(`${serviceUrl}/openapi.json`, { signal });
  if (!response.ok) throw new Error(`The description of the API could not be loaded (status ${response.status}).`);
  const document = (await response.json()) as {
    paths: Record<
      string,
      {
        post?: {
          requestBody?: { content?: Record<string, { schema: OptionSchema; examples?: Record<string, Example> }> };
        };
      }
    >;
  };
  const content = document.paths['/capture']?.post?.requestBody?.content?.['application/json'];
  if (content === undefined) throw new Error('The description of the API has no POST /capture.');
  const { schema, examples } = content;
  return { schema, examples: Object.values(examples ?? {}), validate: validatorOf(schema) };
}
