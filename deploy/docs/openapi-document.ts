import { buildAppAlone } from '../../test/integration/front/app-alone.ts';

/** The OpenAPI document as a front serves it at /openapi.json. */
export async function openApiDocument(): Promise<object> {
  await using app = await buildAppAlone();
  return (await app.inject('/openapi.json')).json();
}
