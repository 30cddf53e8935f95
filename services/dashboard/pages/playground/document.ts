import { client } from '../../shell/session.ts';
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

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly post?: Operation }>>;
}

interface Operation {
  readonly requestBody?: {
    readonly content?: Readonly<
      Record<string, { readonly schema: OptionSchema; readonly examples?: Record<string, Example> }>
    >;
  };
}

/** Reads the OpenAPI document of the service that this dashboard belongs to. */
export async function loadDocument(signal: AbortSignal): Promise<CaptureDocument> {
  const { data, response } = await client().raw.GET('/openapi.json', { signal });
  if (data === undefined) throw new Error(`The OpenAPI document could not be loaded (status ${response.status}).`);
  const document = data as OpenApiDocument;
  const content = document.paths['/capture']?.post?.requestBody?.content?.['application/json'];
  if (content === undefined) throw new Error('The description of the API has no POST /capture.');
  const { schema, examples } = content;
  return { schema, examples: Object.values(examples ?? {}), validate: validatorOf(schema) };
}
