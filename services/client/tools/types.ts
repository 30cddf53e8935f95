import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';

/** Returns the module `openapi.ts`: the types of an OpenAPI document's paths, for openapi-fetch. */
export async function clientTypes(document: object): Promise<string> {
  // Defaults apply to requests: a field with a default is optional there.
  const nodes = await openapiTS(document as OpenAPI3, { defaultNonNullable: false });
  return `// Made by \`npm run docs\` of the OpenAPI document: do not edit.\n\n${astToString(nodes)}`;
}
