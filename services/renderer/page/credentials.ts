import { isIP } from 'node:net';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { BrowserContext, Cookie } from 'playwright';
import type { LoginAnswer } from '../browser/page.ts';
import { htmlUrl } from '../html-url.ts';
import type { RenderSource } from './navigate.ts';
import type { OpenPage } from './open.ts';

type Credentials = Pick<CaptureSecrets, 'headers' | 'cookies' | 'auth'>;
type WantedCookie = NonNullable<CaptureSecrets['cookies']>[number];

/**
 * Sets headers, cookies and HTTP login of a page before its first navigation. Headers and login apply only to the origin of the request's
 * URL, even if the page navigates elsewhere. Headers also apply to the origins in `headersFor`. Supplied HTML has no origin.
 *
 * Headers are missing from requests that `RequestInterceptor` does not pause.
 *
 * @throws ServiceError CAPTURE_FAILED that names a cookie which the browser refuses
 * @throws Error of the driver, whose message may contain secrets
 */
export async function setCredentials(
  open: OpenPage,
  { source, options }: { readonly source: RenderSource; readonly options: Pick<RenderOptions, 'headersFor'> },
  { headers, cookies, auth }: Credentials,
): Promise<void> {
  const url = source.kind === 'url' ? source.url : htmlUrl;
  const own = source.kind === 'url' ? [new URL(url).origin] : [];
  const others = (options.headersFor ?? []).map((one) => new URL(one).origin);
  const rights: Rights = {
    headers: headers === undefined ? undefined : { list: headers, origins: new Set([...own, ...others]) },
    login: auth === undefined || own[0] === undefined ? undefined : { ...auth, origin: own[0] },
  };
  await Promise.all([cookies && addCookies(open.page.context(), cookies, url), guardRequests(open, rights)]);
}

interface Rights {
  readonly headers:
    { readonly list: Readonly<Record<string, string>>; readonly origins: ReadonlySet<string> } | undefined;
  readonly login: Login | undefined;
}

interface Login {
  readonly username: string;
  readonly password: string;
  readonly origin: string;
}

/** Adds headers and login to matching requests of the page, its frames and its workers. */
async function guardRequests(
  { requests, answerLogins, deadline }: OpenPage,
  { headers, login }: Rights,
): Promise<void> {
  const origins = [...new Set([...(headers?.origins ?? []), ...(login ? [login.origin] : [])])];
  if (origins.length === 0) return;
  // In the full browser, another session gets the login challenge first.
  if (login) answerLogins(answerOnce(login));
  await requests.add({
    // In a URL, a user name and a password may precede the host. Other URLs that match the pattern are excluded by their origin.
    patterns: origins.flatMap((origin) => [
      { urlPattern: `${origin}/*` },
      { urlPattern: `${origin.replace('//', '//*@')}/*` },
    ]),
    headersOf: (request) => {
      if (headers === undefined || !headers.origins.has(URL.parse(request.url)?.origin ?? '')) return undefined;
      return mergeHeaders(request.headers, headers.list);
    },
    onRefused: () =>
      deadline.abort(
        new ServiceError('CAPTURE_FAILED', 'headers: the browser refuses to send one of them.', { causedBy: 'client' }),
      ),
    ...(login ? { answerLogins: () => answerOnce(login) } : {}),
  });
}

/** If two headers have the same name, the browser uses the last one. */
function mergeHeaders(theirs: Readonly<Record<string, string>>, ours: Readonly<Record<string, string>>) {
  // The protocol may list only some of the cookies. If the list has no cookie header, the browser sends all cookies of the URL.
  const kept = Object.entries(theirs).filter(([name]) => name.toLowerCase() !== 'cookie');
  return [...kept, ...Object.entries(ours)].map(([name, value]) => ({ name, value }));
}

/** Answers each request once. If a server asks again, it has refused these credentials. */
function answerOnce({ username, password, origin }: Login): LoginAnswer {
  const answered = new Set<string>();
  return ({ requestId, authChallenge }) => {
    const isAllowed = authChallenge.source === 'Server' && authChallenge.origin === origin;
    if (!isAllowed || answered.has(requestId)) return { response: 'CancelAuth' };
    answered.add(requestId);
    return { response: 'ProvideCredentials', username, password };
  };
}

type StoredCookie = Pick<Cookie, 'name' | 'value' | 'domain' | 'path'> & Partial<Cookie>;

async function addCookies(context: BrowserContext, cookies: readonly WantedCookie[], pageUrl: string): Promise<void> {
  const wanted = cookies.map((cookie) => locateCookie(cookie, pageUrl));
  // The browser adds all cookies or none, and does not report which one it refuses.
  const added = await tryAdding(context, wanted);
  for (const cookie of added ? [] : wanted) {
    if (!(await tryAdding(context, [cookie]))) throw refusedCookie(cookie);
  }
  // The browser drops some cookies without an error. Their paths are not compared but only counted, because the browser normalizes paths.
  const stored = await context.cookies();
  const dropped = wanted.find((cookie) => {
    const paths = new Set(wanted.filter((one) => isSibling(one, cookie)).map(({ path }) => path));
    return stored.filter((one) => isSibling(one, cookie)).length < paths.size;
  });
  if (dropped) throw refusedCookie(dropped);
}

const tryAdding = (context: BrowserContext, cookies: StoredCookie[]) =>
  context.addCookies(cookies).then(
    () => true,
    () => false,
  );

/** Resolves the scope of a cookie as browsers do: a domain with a leading dot includes its subdomains. */
function locateCookie({ url, domain, path = '/', ...cookie }: WantedCookie, pageUrl: string): StoredCookie {
  const { secure = domain === undefined && new URL(url ?? pageUrl).protocol === 'https:' } = cookie;
  const host = new URL(domain === undefined ? (url ?? pageUrl) : `http://${domain.replace(/^\./, '')}`).hostname;
  const isDomain = domain !== undefined && isIP(host) === 0 && !host.startsWith('[');
  return { ...cookie, secure, domain: isDomain ? `.${host}` : host, path };
}

const isSibling = (one: StoredCookie, other: StoredCookie) =>
  one.name === other.name && one.domain.replace(/^\./, '') === other.domain.replace(/^\./, '');

const refusedCookie = ({ name }: StoredCookie) =>
  new ServiceError(
    'CAPTURE_FAILED',
    `cookies: the browser refuses the cookie ${JSON.stringify(name)}. Its domain, path, secure and sameSite have to fit each other and its name, and its value must be one that a browser can keep.`,
    { causedBy: 'client' },
  );
