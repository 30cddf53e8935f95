import { dataOfEvents, type EventsOptions, readEvents } from './event-stream.ts';
import { dataOf, given, itemsOf, type CallOptions, type RawClient } from './requests.ts';
import type {
  Account,
  AdminCapture,
  AdminCapturesQuery,
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

/** The operator's calls: the client needs the admin token as its `apiKey`. */
export class Admin {
  readonly #raw: RawClient;

  constructor(raw: RawClient) {
    this.#raw = raw;
  }

  /** All accounts, newest first; pages are fetched as needed. `limit` is the size of a page. */
  listAccounts({ limit, signal }: Omit<PageQuery, 'cursor'> & CallOptions = {}): AsyncIterable<Account> {
    return itemsOf((cursor) => this.listAccountsPage({ limit, cursor, signal }));
  }

  /** One page of the list of accounts. */
  listAccountsPage({ signal = null, ...query }: PageQuery & CallOptions = {}): Promise<Page<Account>> {
    return dataOf(this.#raw.GET('/admin/accounts', { params: { query: given(query) }, signal }));
  }

  /** Creates an account. Not repeated when no answer comes: it would be two accounts. */
  createAccount(body: CreateAccount, { signal = null }: CallOptions = {}): Promise<Account> {
    return dataOf(this.#raw.POST('/admin/accounts', { body, signal }));
  }

  /** Changes the given fields: name, limits, isolation, suspended. */
  changeAccount(id: string, body: ChangeAccount, { signal = null }: CallOptions = {}): Promise<Account> {
    return dataOf(this.#raw.PATCH('/admin/accounts/{id}', { params: { path: { id } }, body, signal }));
  }

  /** Creates an API key for an account; the first key of an account has all scopes by default. */
  createKey(body: CreateAccountKey, { signal = null }: CallOptions = {}): Promise<NewApiKey> {
    return dataOf(this.#raw.POST('/admin/keys', { body, signal }));
  }

  /** Revokes a key of any account; with `cascade` also the keys that were created with it, and with those, and so on. */
  revokeKey(
    id: string,
    { cascade = false, signal = null }: CallOptions & { cascade?: boolean } = {},
  ): Promise<RevokedApiKey> {
    const query = cascade ? ({ cascade: 'true' } as const) : {};
    return dataOf(this.#raw.DELETE('/admin/keys/{id}', { params: { path: { id }, query }, signal }));
  }

  /** The fleet, region by region. */
  getOverview({ signal = null }: CallOptions = {}): Promise<Overview> {
    return dataOf(this.#raw.GET('/admin/overview', { signal }));
  }

  /** The overview every two seconds, until the service ends the stream. It throws as `events` of the client does. */
  events(options: EventsOptions = {}): AsyncIterable<Overview> {
    const open = (signal: AbortSignal) => this.#raw.GET('/admin/events', { signal, parseAs: 'stream' });
    return dataOfEvents('overview', readEvents(open, options));
  }

  /** The slowest captures of the last 24 hours, or the latest that failed, of all accounts. */
  async listCaptures({ signal = null, ...query }: AdminCapturesQuery & CallOptions = {}): Promise<
    readonly AdminCapture[]
  > {
    const { captures } = await dataOf(this.#raw.GET('/admin/captures', { params: { query: given(query) }, signal }));
    return captures;
  }

  /** The last 100 jobs that were given up, newest first. */
  async listDeadLetters({ signal = null }: CallOptions = {}): Promise<readonly DeadLetter[]> {
    const { deadLetters } = await dataOf(this.#raw.GET('/admin/dead-letters', { signal }));
    return deadLetters;
  }
}
