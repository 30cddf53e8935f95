import { describe, expect, test } from 'vitest';
import { checkAdminToken } from '../../../services/front/api/admin.ts';
import { buildAppAlone } from './app-alone.ts';

const token = 'a-long-admin-token';

test.each([
  [`Bearer ${token}`, token, null],
  [`bearer ${token}`, token, null],
  [`Bearer ${token}x`, token, 'UNAUTHORIZED'],
  ['Bearer a', token, 'UNAUTHORIZED'],
  [token, token, 'UNAUTHORIZED'],
  [undefined, token, 'UNAUTHORIZED'],
  [`Bearer ${token}`, undefined, 'NOT_FOUND'],
  [undefined, undefined, 'NOT_FOUND'],
])('with the header %s and the configured token %s, the error code is %s', (header, expected, code) => {
  const check = () => checkAdminToken(header, expected);
  if (code === null) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code }));
});

const routes = [
  ['GET', '/admin/accounts'],
  ['POST', '/admin/accounts'],
  ['PATCH', '/admin/accounts/demo'],
  ['POST', '/admin/keys'],
  ['DELETE', '/admin/keys/x'],
] as const;

describe.each(routes)('%s %s', (method, url) => {
  const ask = async (adminToken: string | undefined, authorization?: string) => {
    const app = await buildAppAlone(adminToken === undefined ? {} : { adminToken });
    const headers = authorization === undefined ? {} : { authorization };
    // The body is also invalid, but a client without the token must not get this information.
    const payload = method === 'GET' || method === 'DELETE' ? undefined : { nonsense: 1 };
    const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    return [answer.statusCode, answer.json().error.code];
  };

  test('is not found if no admin token is configured', async () => {
    expect(await ask(undefined, `Bearer ${token}`)).toEqual([404, 'NOT_FOUND']);
  });

  test('refuses a missing and a wrong token', async () => {
    expect(await ask(token)).toEqual([401, 'UNAUTHORIZED']);
    expect(await ask(token, 'Bearer another-token')).toEqual([401, 'UNAUTHORIZED']);
  });
});
