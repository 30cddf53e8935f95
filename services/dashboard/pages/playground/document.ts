import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { client } from '../../shell/session.ts';
import { type Body, type OptionGroup, validatorOf } from './schema.ts';

interface Example {
  readonly summary: string;
  readonly value: Body;
}

/** The part of the OpenAPI document that describes POST /capture. */
export interface CaptureDocument {
  readonly schema: JsonSchema;
  readonly groups: readonly OptionGroup[];
  /** Options that a signed link cannot have, by dotted paths. */
  readonly linkRefusals: readonly string[];
  readonly examples: readonly Example[];
  readonly validate: (body: Body) => ReadonlyMap<string, string>;
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly post?: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface Operation {
  readonly 'x-option-groups'?: readonly OptionGroup[];
  readonly 'x-link-refusals'?: readonly string[];
  readonly requestBody?: {
    readonly content?: Readonly<
      Record<string, { readonly schema: JsonSchema; readonly examples?: Record<string, Example> }>
    >;
  };
}

/** Fetches the OpenAPI document of this dashboard's service. */
export async function loadDocument(signal: AbortSignal): Promise<CaptureDocument> {
  const [{ data, response }, regions] = await Promise.all([
    client().raw.GET('/openapi.json', { signal }),
    installedRegions(signal),
  ]);
  if (data === undefined) throw new Error(`The OpenAPI document could not be loaded (status ${response.status}).`);
  const document = data as OpenApiDocument;
  const { post } = document.paths['/capture'] ?? {};
  const content = post?.requestBody?.content?.['application/json'];
  if (content === undefined) throw new Error('The description of the API has no POST /capture.');
  const { examples } = content;
  const schema = withInstalledRegions(withoutRefs(content.schema, document) as JsonSchema, regions);
  return {
    schema,
    groups: post?.['x-option-groups'] ?? [],
    linkRefusals: post?.['x-link-refusals'] ?? [],
    examples: Object.values(examples ?? {}),
    validate: validatorOf(schema),
  };
}

/** Returns the installed regions. The status contains a component for each. */
async function installedRegions(signal: AbortSignal): Promise<readonly string[]> {
  const prefix = 'engine.';
  const { components = [] } = await client().getStatus({ signal });
  return components.filter(({ name }) => name.startsWith(prefix)).map(({ name }) => name.slice(prefix.length));
}

function withInstalledRegions(schema: JsonSchema, installed: readonly string[]): JsonSchema {
  const { region } = schema.properties ?? {};
  if (region?.enum === undefined || installed.length === 0) return schema;
  const offered = region.enum.filter((name) => name === region.default || installed.includes(name));
  return { ...schema, properties: { ...schema.properties, region: { ...region, enum: offered } } };
}

const refPrefix = '#/components/schemas/';

/** Replaces references with the schemas to which they refer. No schema refers to itself. */
function withoutRefs(value: unknown, document: OpenApiDocument): unknown {
  if (Array.isArray(value)) return value.map((part) => withoutRefs(part, document));
  if (value === null || typeof value !== 'object') return value;
  const { $ref, ...rest } = value as { readonly $ref?: unknown };
  const own = Object.fromEntries(Object.entries(rest).map(([key, part]) => [key, withoutRefs(part, document)]));
  if (typeof $ref !== 'string') return own;
  const referred = document.components.schemas[$ref.slice(refPrefix.length)];
  return { ...(withoutRefs(referred, document) as object), ...own };
}
