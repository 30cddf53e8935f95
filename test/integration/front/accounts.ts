import type { AccountView } from '@webcapture/shared/api/account.ts';
import type { KeyView, NewKeyView } from '@webcapture/shared/api/api-key.ts';
import { read } from './test-front.ts';

export const adminToken = 'the-admin-token-of-the-tests';

/** Sends one JSON request to any URL with any token; returns status, envelope and headers. */
export async function send(url: string, token: string | null, options: { method?: string; body?: unknown } = {}) {
  const { method = options.body === undefined ? 'GET' : 'POST', body } = options;
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(40_000),
  });
  return read(response);
}

export type Answer = Awaited<ReturnType<typeof send>>;

/** Returns the `data` of an answer; throws if the request failed. */
export function dataOf<T>({ status, body }: Answer): T {
  if (status !== 200 || !body.success) throw new Error(`${status} ${JSON.stringify(body.error)}`);
  return body.data as T;
}

/** Opens an account with the admin token; returns the account and its first key. */
export async function openAccount(
  url: string,
  limits: object = {},
): Promise<{ readonly account: AccountView; readonly first: NewKeyView }> {
  const body = { name: 'Test', ...limits };
  const account = dataOf<AccountView>(await send(`${url}/admin/accounts`, adminToken, { body }));
  const keyBody = { accountId: account.id, name: 'first' };
  const first = dataOf<NewKeyView>(await send(`${url}/admin/keys`, adminToken, { body: keyBody }));
  return { account, first };
}

export interface KeyList {
  readonly items: readonly KeyView[];
  readonly nextCursor: string | null;
}
