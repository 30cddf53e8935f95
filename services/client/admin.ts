import { dataOfEvents, type EventsOptions, readEvents } from './event-stream.ts';
import { dataOf, given, itemsOf, type CallOptions, type RawClient } from './requests.ts';
import type {
  Account,
  AdminCapture,
  AdminCapturesQuery,
  AdminUsage,
  AdminUsageQuery,
  ChangeAccount,
  CreateAccount,
  CreateAccountKey,
  DeadLetter,
  NewApiKey,
  Overview,
  Page,
  PageQuery,
  RevokedApiKey,
} from './types.ts';

/** The operator's methods. The client needs the admin token as its `apiKey`. */
export class Admin {
  readonly #raw: RawClient;

  constructor(raw: RawClient) {
    this.#raw = raw;
  }

  /** Yields all accounts, newest first. Pages are fetched as needed. `limit` is the size of a page. */
  listAccounts({ limit, signal }: Omit<PageQuery, 'cursor'> & CallOptions = {}): AsyncIterable<Account> {
    return itemsOf((cursor) => this.listAccountsPage({ limit, cursor, signal }));
  }

  /** Returns one page of the list of accounts. */
  listAccountsPage({ signal = null, ...query }: PageQuery & CallOptions = {}): Promise<Page<Account>> {
    return dataOf(this.#raw.GET('/admin/accounts', { params: { query: given(query) }, signal }));
  }

  /** Creates an account. Not retried without a response, because that could create two accounts. */
  createAccount(body: CreateAccount, { signal = null }: CallOptions = {}): Promise<Account> {
    return dataOf(this.#raw.POST('/admin/accounts', { body, signal }));
  }

  /** Changes the given fields: name, limits, isolation, allowIgnoreTlsErrors, suspended. */
  changeAccount(id: string, body: ChangeAccount, { signal = null }: CallOptions = {}): Promise<Account> {
    return dataOf(this.#raw.PATCH('/admin/accounts/{id}', { params: { path: { id } }, body, signal }));
  }

  /** Creates an API key for an account; the first key of an account has all scopes by default. */
  createKey(body: CreateAccountKey, { signal = null }: CallOptions = {}): Promise<NewApiKey> {
    return dataOf(this.#raw.POST('/admin/keys', { body, signal }));
  }

  /** Revokes a key of any account; with `cascade` also the keys that were created with it, recursively. */
  revokeKey(
    id: string,
    { cascade = false, signal = null }: CallOptions & { cascade?: boolean } = {},
  ): Promise<RevokedApiKey> {
    const query = cascade ? ({ cascade: 'true' } as const) : {};
    return dataOf(this.#raw.DELETE('/admin/keys/{id}', { params: { path: { id }, query }, signal }));
  }

  /** Returns the state of the fleet by region. */
  getOverview({ signal = null }: CallOptions = {}): Promise<Overview> {
    return dataOf(this.#raw.GET('/admin/overview', { signal }));
  }

  /** Yields the overview every 2 s until the service ends the stream. Throws like `events` of the client. */
  events(options: EventsOptions = {}): AsyncIterable<Overview> {
    const open = (signal: AbortSignal) => this.#raw.GET('/admin/events', { signal, parseAs: 'stream' });
    return dataOfEvents('overview', readEvents(open, options));
  }

  /** Returns the slowest captures of the last 24 hours, or the latest failed ones, of all accounts. */
  async listCaptures({ signal = null, ...query }: AdminCapturesQuery & CallOptions = {}): Promise<
    readonly AdminCapture[]
  > {
    const { captures } = await dataOf(this.#raw.GET('/admin/captures', { params: { query: given(query) }, signal }));
    return captures;
  }

  /** Returns the usage of the accounts that used most tokens in the latest days (1 to 90, default 7, including today). */
  getUsage({ signal = null, ...query }: AdminUsageQuery & CallOptions = {}): Promise<AdminUsage> {
    return dataOf(this.#raw.GET('/admin/usage', { params: { query: given(query) }, signal }));
  }

  /** Returns the last 100 jobs that failed permanently, newest first. */
  async listDeadLetters({ signal = null }: CallOptions = {}): Promise<readonly DeadLetter[]> {
    const { deadLetters } = await dataOf(this.#raw.GET('/admin/dead-letters', { signal }));
    return deadLetters;
  }
}
