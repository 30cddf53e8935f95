import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll } from 'vitest';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { maxOpenBytes } from '../../../../services/front/api/capture-body.ts';
import { buildAppAlone } from '../app-alone.ts';

export const url = 'https://example.com/';

/** The answer to a valid request with an unknown key. */
export const accepted = { status: 401, code: 'UNAUTHORIZED' };

/** Sends bodies to POST /capture of an application without queue and store. */
export function useValidation() {
  let app: FastifyInstance;
  /** An application with a valid key, since large bodies need one; it answers valid requests like `app`. */
  let keyed: FastifyInstance;
  beforeAll(async () => {
    app = await buildAppAlone();
    keyed = await buildAppAlone({
      key: { id: 'k', account: 'a', name: 'n', scopes, createdAt: 0 },
      dispatch: () => Promise.reject(new ServiceError('UNAUTHORIZED')),
    });
  });
  afterAll(() => Promise.all([app.close(), keyed.close()]));

  async function post(payload: string, headers: Record<string, string> = {}) {
    const isLarge = Buffer.byteLength(payload) > maxOpenBytes;
    const response = await (isLarge ? keyed : app).inject({
      method: 'POST',
      url: '/capture',
      headers: { 'content-type': 'application/json', ...(isLarge ? { authorization: 'Bearer x' } : {}), ...headers },
      payload,
    });
    const body: { success: boolean; error: { code: string; message: string }; data: unknown } = response.json();
    return { status: response.statusCode, ...body.error, success: body.success, data: body.data };
  }

  return {
    app: () => app,
    post,
    ask: (body: unknown, headers?: Record<string, string>) => post(JSON.stringify(body), headers),
  };
}
