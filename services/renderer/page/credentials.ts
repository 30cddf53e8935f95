import { isIP } from 'node:net';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { BrowserContext, Cookie } from 'playwright';
import type { LoginAnswer } from '../browser/page.ts';
import { TargetTree, type Target, type TargetEvents } from '../browser/target-tree.ts';
import { htmlUrl } from '../html-url.ts';
import type { RenderSource } from './navigate.ts';
import type { OpenPage } from './open.ts';

type Credentials = Pick<CaptureSecrets, 'headers' | 'cookies' | 'auth'>;
type WantedCookie = NonNullable<CaptureSecrets['cookies']>[number];

/**
 * Gives a page that has been nowhere yet what it is let in with. Headers and login are for the origin that is asked for and no
 * other, wherever the page moves on to; headers also for the origins of `headersFor`. Supplied html has no origin of its own.
 *
 * Headers do not reach what the protocol does not pause for a page: WebSockets, the first requests of a service worker that somebody
 * else, such as blocking, has paused as well and lets go earlier, the scripts of service workers and of workers that
 * workers start, and what shared workers ask for.
 *
 * @throws ServiceError CAPTURE_FAILED that names a cookie which the browser refuses
 * @throws Error of the driver, which may quote any of it
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

/** Sends headers and login where they belong, from the page, its frames and its workers. */
async function guardRequests({ page, answerLogins, deadline }: OpenPage, { headers, login }: Rights): Promise<void> {
  const origins = [...new Set([...(headers?.origins ?? []), ...(login ? [login.origin] : [])])];
  if (origins.length === 0) return;
  // An address may have a name and a password before its host. What else these match is told by its origin.
  const patterns = origins.flatMap((origin) => [
    { urlPattern: `${origin}/*` },
    { urlPattern: `${origin.replace('//', '//*@')}/*` },
  ]);
  const prepare = async (target: Target) => {
    target.on('Fetch.requestPaused', (paused) => {
      continueRequest(target, paused, headers).catch((error: unknown) => deadline.abort(error as ServiceError));
    });
    if (login) {
      const answer = answerOnce(login);
      target.on('Fetch.authRequired', (asked) => {
        const { requestId } = asked;
        const authChallengeResponse = answer(asked);
        // Rejects when the page or the request went away meanwhile.
        target.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
      });
    }
    await target.send('Fetch.enable', { patterns, handleAuthRequests: login !== undefined });
  };
  // In the full browser, somebody else is asked first.
  if (login) answerLogins(answerOnce(login));
  // A session of its own: what others do with theirs does not end it.
  const session = await page.context().newCDPSession(page);
  await new TargetTree({ frame: prepare, worker: prepare }).attach(session);
}

/**
 * Each hop of a redirect is paused by itself: what was set for one is not sent with the next.
 *
 * @throws ServiceError CAPTURE_FAILED for headers that the browser refuses
 */
async function continueRequest(
  target: Target,
  { requestId, request }: TargetEvents['Fetch.requestPaused'],
  headers: Rights['headers'],
): Promise<void> {
  const isAllowed = headers?.origins.has(URL.parse(request.url)?.origin ?? '') === true;
  try {
    await target.send('Fetch.continueRequest', {
      requestId,
      ...(isAllowed ? { headers: mergeHeaders(request.headers, headers.list) } : {}),
    });
  } catch {
    const isThere = await target.send('Fetch.failRequest', { requestId, errorReason: 'Failed' }).then(
      () => true,
      // The page, the frame or the request went away meanwhile.
      () => false,
    );
    if (isThere)
      throw new ServiceError('CAPTURE_FAILED', 'headers: the browser refuses to send one of them.', {
        causedBy: 'client',
      });
  }
}

/** Of two with one name, the browser takes the last. */
function mergeHeaders(theirs: Readonly<Record<string, string>>, ours: Readonly<Record<string, string>>) {
  // Of the cookies the protocol names only some. Where it is given none, the browser sends all that belong there.
  const kept = Object.entries(theirs).filter(([name]) => name.toLowerCase() !== 'cookie');
  return [...kept, ...Object.entries(ours)].map(([name, value]) => ({ name, value }));
}

/** Answers each request once: a server that asks again does not want these. */
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
  // It takes all or none, and does not say which one it refuses.
  const added = await tryAdding(context, wanted);
  for (const cookie of added ? [] : wanted) {
    if (!(await tryAdding(context, [cookie]))) throw refusedCookie(cookie);
  }
  // Some it drops in silence. Paths are counted only, for it writes them in its own way.
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

/** Where a cookie belongs, as the browser has it: a domain that begins with a dot has its subdomains with it. */
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
