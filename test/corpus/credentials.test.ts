import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureSecrets } from '@webcapture/shared/api/secret-options.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { html, TestSite, type Handler, type ShotOptions, type TestEngine } from '../harness/engine.ts';
import { redirect } from './answers.ts';
import { corpusEngine } from './corpus.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await corpusEngine();
});

/** Headers that the page's own site (127.0.0.1), foreign.test and cdn.test received, by host and address, e.g. `own /img?hop`. */
type Sent = Map<string, IncomingHttpHeaders[]>;

const names: Readonly<Record<string, string>> = { '127.0.0.1': 'own' };

/** Two sites; one of them has two names. `pages` receive the addresses of the origins. */
async function startSites(
  pages: (addresses: { own: string; foreign: string; cdn: string }) => Record<string, string | Handler>,
) {
  const sent: Sent = new Map();
  const note: (handlers: Record<string, string | Handler>) => Record<string, Handler> = (handlers) =>
    Object.fromEntries(
      Object.entries(handlers).map(([path, page]) => [
        path,
        (request, response) => {
          const host = request.headers.host?.split(':')[0] ?? '';
          const key = `${names[host] ?? host.replace('.test', '')} ${request.url}`;
          sent.set(key, [...(sent.get(key) ?? []), request.headers]);
          if (typeof page === 'function') return page(request, response);
          const type = path.endsWith('.js') ? 'text/javascript' : 'text/html';
          response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(page);
        },
      ]),
    );
  const handlers: Record<string, Handler> = {};
  const [site, other] = [await TestSite.start(handlers), await TestSite.start(handlers)];
  const addresses = {
    own: site.url(''),
    foreign: other.url('', 'foreign.test'),
    cdn: other.url('', 'cdn.test'),
  };
  Object.assign(handlers, note(pages(addresses)));
  const close = () => Promise.all([site.close(), other.close()]);
  return { ...addresses, sent, site, close };
}

type Sites = Awaited<ReturnType<typeof startSites>>;

const capture = (url: string, secrets: CaptureSecrets, options: ShotOptions = {}) =>
  engine.render(url, { format: 'png', ...options }, { secrets });

/** Blocking also pauses requests, and another language changes their headers. */
const others = { block: { ...blockNothing, ads: true }, locale: 'de-DE' };
const browsers: readonly ShotOptions[] = [{ antiBot: false }, { antiBot: true, ...others }];

describe.each([...browsers, { antiBot: false, ...others }])(
  'headers, with antiBot $antiBot, locale $locale',
  (options) => {
    const headers = { Authorization: 'Bearer secret', 'X-Secret': 'secret', ACCEPT: 'text/own' };
    let sites: Sites;

    /** The image of the page arrives when all of these requests have been sent. */
    const own = [
      'own /start',
      'own /?hop',
      'own /img',
      'own /img?hop',
      'own /img?from-foreign',
      'own /frame',
      'own /fetch',
      'own /fetch?frame',
      'own /fetch?foreign',
      'own /frame?foreign',
      'own /worker.js',
      'own /fetch?worker',
      'own /fetch?service-worker',
    ];
    const cdn = ['cdn /img', 'cdn /fetch', 'cdn /img?hop'];
    const foreign = [
      'foreign /img',
      'foreign /img?hop',
      'foreign /img?cdn-hop',
      'foreign /frame',
      'foreign /frame?hop',
      'foreign /fetch',
      'foreign /fetch?hop',
      'foreign /fetch?worker',
      'foreign /fetch?service-worker',
    ];

    beforeAll(async () => {
      sites = await startSites(({ own: ownUrl, foreign: foreignUrl, cdn: cdnUrl }) => {
        const isAllThere = () => [...own, ...cdn, ...foreign].every((key) => sites.sent.has(key));
        const byHost =
          (answers: { own: string | Handler; other: string | Handler }): Handler =>
          (request, response) => {
            const chosen = request.headers.host?.startsWith('127.0.0.1') ? answers.own : answers.other;
            if (typeof chosen === 'function') return chosen(request, response);
            response.writeHead(200, { 'content-type': 'text/html' }).end(chosen);
          };
        const send = (url: string) => `fetch('${url}', { mode: 'no-cors' })`;
        return {
          '/start': redirect('/?hop'),
          '/': html(`<img src="/told.png">
          <img src="/img"><img src="${foreignUrl}/img"><img src="${cdnUrl}/img">
          <img src="/to-own"><img src="/to-foreign"><img src="/to-cdn"><img src="${cdnUrl}/to-foreign">
          <iframe src="/frame"></iframe><iframe src="${foreignUrl}/frame"></iframe><iframe src="/frame-to-foreign"></iframe>
          <script>
            fetch('/fetch'); ${send(`${foreignUrl}/fetch`)}; ${send(`${cdnUrl}/fetch`)}; ${send('/fetch-to-foreign')};
            new Worker('/worker.js');
            navigator.serviceWorker.register('/service-worker.js');
            new WebSocket('ws://' + location.host + '/socket');
          </script>`),
          '/img': 'an image',
          '/fetch': 'x',
          '/socket': 'x',
          '/to-own': redirect('/img?hop'),
          '/to-cdn': redirect(`${cdnUrl}/img?hop`),
          '/to-foreign': byHost({
            own: redirect(`${foreignUrl}/img?hop`),
            other: redirect(`${foreignUrl}/img?cdn-hop`),
          }),
          '/fetch-to-foreign': redirect(`${foreignUrl}/fetch?hop`),
          '/frame-to-foreign': redirect(`${foreignUrl}/frame?hop`),
          '/frame': byHost({
            own: `<script>fetch('/fetch?frame')</script>`,
            other: `<img src="${ownUrl}/img?from-foreign"><iframe src="${ownUrl}/frame?foreign"></iframe><script>${send(`${ownUrl}/fetch?foreign`)}</script>`,
          }),
          '/worker.js': `fetch('/fetch?worker'); ${send(`${foreignUrl}/fetch?worker`)}`,
          '/service-worker.js': `fetch('/fetch?service-worker'); ${send(`${foreignUrl}/fetch?service-worker`)}`,
          '/told.png': (_request, response) => {
            const poll = setInterval(() => {
              if (!isAllThere() && !response.destroyed) return;
              clearInterval(poll);
              response.end();
            }, 20);
          },
        };
      });
      const { report } = await capture(`${sites.own}/start`, { headers }, { ...options, headersFor: [sites.cdn] });
      const missing = [...own, ...cdn, ...foreign].filter((key) => !sites.sent.has(key));
      expect({ softTimeouts: report.softTimeouts, missing }).toEqual({ softTimeouts: [], missing: [] });
    });
    afterAll(() => sites.close());

    test.each([...own, ...cdn])('reach %s, and replace those of the browser', (key) => {
      for (const received of sites.sent.get(key) ?? []) {
        expect(received).toMatchObject({ authorization: 'Bearer secret', 'x-secret': 'secret', accept: 'text/own' });
      }
    });

    test('leave other headers unchanged', () => {
      const language = options.locale === undefined ? {} : { 'accept-language': 'de-DE,de;q=0.9' };
      const [img] = sites.sent.get('own /img') ?? [];
      expect(img).toMatchObject({
        ...language,
        referer: `${sites.own}/?hop`,
        'user-agent': expect.any(String) as string,
      });
    });

    test('reach no other origin', () => {
      const received = [...sites.sent].filter(([key]) => key.startsWith('foreign ')).flatMap(([, all]) => all);
      expect(received.length).toBeGreaterThanOrEqual(foreign.length);
      expect(
        received.filter((one) => 'authorization' in one || 'x-secret' in one || one.accept === 'text/own'),
      ).toEqual([]);
    });

    // As documented: the protocol does not pause these requests.
    test.each(['own /socket', 'own /service-worker.js'])('do not reach %s', (key) => {
      expect(sites.sent.get(key)?.length).toBeGreaterThan(0);
      expect(sites.sent.get(key)?.filter((one) => 'x-secret' in one)).toEqual([]);
    });
  },
);

describe('the origin of the requested address', () => {
  let sites: Sites;
  beforeAll(async () => {
    const images = ({ own, foreign }: { own: string; foreign: string }) =>
      html(`<img src="${own}/img"><img src="${foreign}/img">`);
    sites = await startSites((addresses) => ({
      '/redirects': redirect(`${addresses.foreign}/there`),
      '/moves': html(`<script>location.replace('${addresses.foreign}/there')</script>`),
      '/there': images(addresses),
      '/img': 'an image',
      '/html': 'x',
    }));
  });
  afterAll(() => sites.close());

  test.each(['/redirects', '/moves'])(
    'stays the origin with headers when the page navigates to another: %s',
    async (path) => {
      sites.sent.clear();
      const { report } = await capture(`${sites.own}${path}`, { headers: { 'X-Secret': 'secret' } });
      expect(report.finalUrl).toBe(`${sites.foreign}/there`);
      const withHeader = [...sites.sent].filter(([, all]) => all.some((one) => 'x-secret' in one)).map(([key]) => key);
      expect(withHeader.toSorted()).toEqual(['own /img', `own ${path}`]);
      expect(sites.sent.has('foreign /img')).toBe(true);
    },
  );

  test('is identified by its host, regardless of a subdomain before it', async () => {
    sites.sent.clear();
    const ownHost = new URL(sites.own).host;
    await capture(`http://name:word@${ownHost}/there`, { headers: { 'X-Secret': 'secret' } });
    expect(sites.sent.get('own /there')?.[0]).toHaveProperty('x-secret');
    sites.sent.clear();
    const source = { kind: 'html', html: html(`<img src="${sites.foreign}/img?@${ownHost}/">`) } as const;
    await engine.render(source, { headersFor: [sites.own] }, { secrets: { headers: { 'X-Secret': 'secret' } } });
    expect([...sites.sent.keys()]).toEqual([`foreign /img?@${ownHost}/`]);
    expect([...sites.sent.values()].flat().filter((one) => 'x-secret' in one)).toEqual([]);
  });

  test('is none for supplied html: only headersFor adds headers', async () => {
    sites.sent.clear();
    const source = { kind: 'html', html: html(`<img src="${sites.own}/img"><img src="${sites.cdn}/img">`) } as const;
    const secrets = { headers: { 'X-Secret': 'secret' }, auth: { username: 'user', password: 'pass' } };
    await engine.render(source, { headersFor: [sites.cdn] }, { secrets });
    expect(sites.sent.get('cdn /img')?.[0]).toHaveProperty('x-secret');
    expect(sites.sent.get('own /img')?.[0]).not.toHaveProperty('x-secret');
  });

  test('a header that the browser refuses fails the capture immediately, and the message does not quote it', async () => {
    const refused = capture(`${sites.own}/img`, { headers: { 'X-Secret': 'sec\nret' } });
    const message = 'headers: the browser refuses to send one of them.';
    await expect(refused).rejects.toMatchObject({ code: 'CAPTURE_FAILED', message });
  });
});

const md5 = (text: string) => createHash('md5').update(text).digest('hex');

const basic = (body: string, password: string): Handler => {
  const right = `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;
  return ({ headers }, response) => {
    const isRight = headers.authorization === right;
    response.writeHead(isRight ? 200 : 401, {
      'content-type': 'text/html',
      ...(isRight ? {} : { 'www-authenticate': 'Basic realm="basic"' }),
    });
    response.end(isRight ? body : 'refused');
  };
};

const digest = (password: string): Handler => {
  const isRight = (authorization: string) => {
    const part = (name: string) => new RegExp(`\\b${name}="?([^",]+)`).exec(authorization)?.[1] ?? '';
    const parts = ['nonce', 'nc', 'cnonce', 'qop'].map(part).join(':');
    return part('response') === md5(`${md5(`user:digest:${password}`)}:${parts}:${md5(`GET:${part('uri')}`)}`);
  };
  return ({ headers }, response) => {
    const isIn = isRight(headers.authorization ?? '');
    response.writeHead(isIn ? 200 : 401, {
      'content-type': 'image/svg+xml',
      ...(isIn ? {} : { 'www-authenticate': 'Digest realm="digest", qop="auth", nonce="a1b2"' }),
    });
    response.end(isIn ? '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>' : '');
  };
};

describe.each(browsers)('auth, with antiBot $antiBot', (options) => {
  const auth = { username: 'user', password: 'päss:word' };
  let sites: Sites;
  beforeAll(async () => {
    sites = await startSites(({ foreign }) => ({
      '/': basic(
        html(`<img src="/digest"><img src="${foreign}/digest?foreign"><iframe src="${foreign}/foreign"></iframe>`),
        auth.password,
      ),
      '/digest': digest(auth.password),
      '/foreign': basic('', auth.password),
      '/away': redirect(`${foreign}/`),
      '/proxy': (_request, response) =>
        response.writeHead(407, { 'proxy-authenticate': 'Basic realm="proxy"' }).end('refused'),
    }));
  });
  afterAll(() => sites.close());

  const authorizations = (key: string) => sites.sent.get(key)?.map(({ authorization }) => authorization?.split(' ')[0]);
  /** Returns the requests that contained a login, for the site or a proxy. */
  const loggedIn = () =>
    [...sites.sent].flatMap(([key, all]) =>
      all.some((one) => 'authorization' in one || 'proxy-authorization' in one) ? [key] : [],
    );

  test('logs in to basic and digest authentication, and not at other origins', async () => {
    sites.sent.clear();
    const { report } = await capture(`${sites.own}/`, { auth }, options);
    expect(report).toMatchObject({ httpStatus: 200, images: { loaded: 1, failed: 1 } });
    expect(authorizations('own /')).toEqual([undefined, 'Basic']);
    expect(authorizations('own /digest')?.at(-1)).toBe('Digest');
    expect(sites.sent.has('foreign /foreign') && sites.sent.has('foreign /digest?foreign')).toBe(true);
    expect(loggedIn()).toEqual(['own /', 'own /digest']);
  });

  test('tries a wrong password once, and captures the refusal', async () => {
    sites.sent.clear();
    const { report } = await capture(`${sites.own}/`, { auth: { ...auth, password: 'wrong' } }, options);
    expect(report.httpStatus).toBe(401);
    expect(authorizations('own /')).toEqual([undefined, 'Basic']);
  });

  test('does not log in at the origin of a redirect, or at a proxy', async () => {
    sites.sent.clear();
    const { report } = await capture(`${sites.own}/away`, { auth }, options);
    expect(report).toMatchObject({ httpStatus: 401, finalUrl: `${sites.foreign}/` });
    expect((await capture(`${sites.own}/proxy`, { auth }, options)).report.httpStatus).toBe(407);
    expect(loggedIn()).toEqual([]);
  });
});

describe('cookies', () => {
  let sites: Sites;
  /** Returns the cookies of the request for a host and path, in alphabetical order. */
  const cookies = (key: string) => sites.sent.get(key)?.[0]?.cookie?.split('; ').toSorted();

  beforeAll(async () => {
    sites = await startSites(({ own, cdn }) => ({
      '/': html(`<img src="/below/img"><img src="${cdn.replace('cdn', 'www.foreign')}/img"><img src="${own}/img">
        <script>new Image().src = '/seen?' + encodeURIComponent(document.cookie)</script>`),
      '/seen': 'x',
      '/img': 'x',
      '/below/img': 'x',
      '/elsewhere': html(`<script>location.href = '${cdn}/'</script>`),
    }));
  });
  afterAll(() => sites.close());

  test('are sent according to their host, domain, path and other attributes', async () => {
    sites.sent.clear();
    // Servers should not send such a value, but browsers accept it.
    const ofBrowser = String.raw`ü "a, b" \c=d`;
    await capture(`${sites.foreign}/`, {
      cookies: [
        { name: 'host', value: ofBrowser },
        { name: 'domain', value: '1', domain: 'foreign.test' },
        { name: 'url', value: '1', url: 'http://www.foreign.test/any/page' },
        { name: 'path', value: '1', path: '/below' },
        { name: 'path', value: '2', path: '/ü' },
        { name: 'secure', value: '1', secure: true },
        { name: 'hidden', value: '1', httpOnly: true },
        { name: 'strict', value: '1', url: sites.own, sameSite: 'Strict' },
        { name: 'none', value: '1', url: sites.own, sameSite: 'None', secure: true },
        { name: 'address', value: '1', domain: '127.0.0.1', sameSite: 'None', secure: true },
      ],
    });
    const bytes = (text: string) => Buffer.from(text).toString('latin1');
    expect(cookies('foreign /')).toEqual(['domain=1', 'hidden=1', `host=${bytes(ofBrowser)}`]);
    expect(cookies('foreign /below/img')).toEqual(['domain=1', 'hidden=1', `host=${bytes(ofBrowser)}`, 'path=1']);
    expect(cookies('www.foreign /img')).toEqual(['domain=1', 'url=1']);
    expect(cookies('own /img')).toEqual(['address=1', 'none=1']);
    const seen = [...sites.sent.keys()].find((key) => key.startsWith('foreign /seen?'));
    expect(decodeURIComponent(seen ?? '')).toMatch(/\?(?!.*hidden).*host=ü "a, b"/);
  });

  test('sameSite works as in a browser: a page of another site does not send a strict cookie', async () => {
    sites.sent.clear();
    const url = sites.cdn;
    await capture(`${sites.foreign}/elsewhere`, {
      cookies: [
        { name: 'strict', value: '1', url, sameSite: 'Strict' },
        { name: 'lax', value: '1', url, sameSite: 'Lax' },
      ],
    });
    expect(cookies('cdn /')).toEqual(['lax=1']);
  });

  test.each([
    ['a name prefix whose rules its attributes violate', { name: '__Host-x', value: 'hidden', domain: 'foreign.test' }],
    ['SameSite=None without https', { name: 'x', value: 'hidden', sameSite: 'None' }],
    ['a value with a line break', { name: 'x', value: 'hid\nden' }],
  ] as const)('a cookie that the browser refuses is named, without its value: %s', async (_, cookie) => {
    const refused = capture(`${sites.foreign}/`, { cookies: [{ name: 'good', value: 'hidden' }, cookie] });
    const message = expect.stringContaining(`refuses the cookie "${cookie.name}"`) as string;
    await expect(refused).rejects.toMatchObject({ code: 'CAPTURE_FAILED', message });
    const error: unknown = await refused.catch((thrown: unknown) => thrown);
    expect(`${String(error)} ${String((error as Error).cause)}`).not.toMatch(/hid/);
  });
});
