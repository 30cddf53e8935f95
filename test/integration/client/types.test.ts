import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../deploy/docs/openapi-document.ts';
import { clientTypes } from '../../../services/client/tools/types.ts';

test('the types of the client match the OpenAPI document (npm run docs writes them)', async () => {
  const file = new URL('../../../services/client/openapi.ts', import.meta.url);
  expect(await readFile(file, 'utf8')).toBe(await clientTypes(await openApiDocument()));
});
