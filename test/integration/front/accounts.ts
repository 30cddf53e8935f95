import type { AccountView } from '@webcapture/shared/api/account.ts';
import type { KeyView, NewKeyView } from '@webcapture/shared/api/api-key.ts';
import { read } from './test-front.ts';

export const adminToken = 'the-admin-token-of-the-tests';

/** One JSON request to any address with any token; the envelope and the headers of its answer. */
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

/** The `data` of an answer that must have succeeded. */
export function dataOf<T>({ status, body }: Answer): T {
  if (status !== 200 || !body.success) throw new Error(`${status} ${JSON.stringify(body.error)}`);
  return body.data as T;
}

/** An account and its first key, made by the operator. */
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
