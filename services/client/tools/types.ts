import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';

/** The module `openapi.ts` beside this folder: the types of an OpenAPI document's paths, for openapi-fetch. */
export async function clientTypes(document: object): Promise<string> {
  // Defaults are for requests: what has one may be left out of them.
  const nodes = await openapiTS(document as OpenAPI3, { defaultNonNullable: false });
  return `// Made by \`npm run docs\` of the OpenAPI document: do not edit.\n\n${astToString(nodes)}`;
}
