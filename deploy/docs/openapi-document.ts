import { buildAppAlone } from '../../test/integration/front/app-alone.ts';

/** Returns the OpenAPI document that a front serves at /openapi.json. */
export async function openApiDocument(): Promise<object> {
  await using app = await buildAppAlone();
  const answer = await app.inject('/openapi.json');
  return answer.json<object>();
}
