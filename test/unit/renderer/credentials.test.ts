import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { RequestInterceptor } from '../../../services/renderer/browser/request-interceptor.ts';
import { TargetTree } from '../../../services/renderer/browser/target-tree.ts';
import { setCredentials } from '../../../services/renderer/page/credentials.ts';
import { addPrivateObjects } from '../../harness/private-objects.ts';

type Secrets = Parameters<typeof setCredentials>[2];

interface Setup {
  readonly html?: boolean;
  readonly headersFor?: readonly string[];
  /** Commands that the browser refuses. */
  readonly refused?: readonly string[];
  /** Cookies that the browser stores. It refuses those with the value `refused`. */
  readonly stored?: (cookies: readonly object[]) => readonly object[];
}

/** Sets credentials for https://own.test/page. Returns the commands that the browser received. */
async function setUp(secrets: Secrets, { html = false, headersFor, refused = [], stored }: Setup = {}) {
  const [events, sent, cookies, aborts] = [new EventEmitter(), [] as unknown[], [] as object[], [] as unknown[]];
  const session = {
    on: (name: string, listener: (event: object) => void) => events.on(name, listener),
    off: () => undefined,
    detach: () => undefined,
    send: async (method: string, params: object) => {
      sent.push([method, params]);
      if (refused.includes(method)) throw new Error('refused');
      return {};
    },
  };
  const context = {
    addCookies: async (added: readonly { readonly value: string }[]) => {
      if (added.some(({ value }) => value === 'refused')) throw new Error('refused');
      cookies.push(...added);
    },
    cookies: async () => stored?.(cookies) ?? cookies,
  };
  const page = { context: () => context };
  addPrivateObjects(page, context, async () => session);
  const logins: ((asked: object) => unknown)[] = [];
  const requests = new RequestInterceptor(new TargetTree(page as never));
  const open = {
    page,
    requests,
    deadline: { abort: (error: unknown) => aborts.push(error) },
    answerLogins: (answer: (asked: object) => unknown) => logins.push(answer),
  };
  const source = html ? { kind: 'html', html: '' } : { kind: 'url', url: 'https://own.test/page' };
  await setCredentials(open as never, { source, options: { headersFor } } as never, secrets);
  /** Emits an event, and returns the commands that follow. */
  const emit = async (name: string, event: object) => {
    sent.length = 0;
    events.emit(name, event);
    // A failed command takes two turns of the event loop.
    for (let turn = 0; turn < 6; turn += 1) await setImmediate();
    return [...sent];
  };
  return { sent, cookies, aborts, logins, emit };
}

const paused = (url: string, headers: object = {}) => ({ requestId: '1', request: { url, headers } });
const origin = 'https://own.test';

describe('headers', () => {
  const headers = { 'X-Secret': 'secret' };

  test('are added to requests of the page and of headersFor only', async () => {
    const { emit } = await setUp({ headers }, { headersFor: ['https://cdn.test/x'] });
    const added = { requestId: '1', headers: [{ name: 'X-Secret', value: 'secret' }] };
    for (const [url, params] of [
      ['https://own.test/a', added],
      ['https://cdn.test/a', added],
      ['https://own.test:8443/a', { requestId: '1' }],
      ['http://own.test/a', { requestId: '1' }],
      ['not a URL', { requestId: '1' }],
    ] as const) {
      expect(await emit('Fetch.requestPaused', paused(url)), url).toEqual([['Fetch.continueRequest', params]]);
    }
  });

  test('come after those of the request, without its list of cookies', async () => {
    const { emit } = await setUp({ headers });
    const theirs = { Accept: '*/*', Cookie: 'a=1', 'x-secret': 'theirs', cookie2: 'x' };
    const [[, params] = []] = (await emit('Fetch.requestPaused', paused(`${origin}/`, theirs))) as [string, object][];
    expect(params).toMatchObject({
      headers: [
        { name: 'Accept', value: '*/*' },
        { name: 'x-secret', value: 'theirs' },
        { name: 'cookie2', value: 'x' },
        { name: 'X-Secret', value: 'secret' },
      ],
    });
  });

  test('are guarded by patterns, with and without a user name in the URL', async () => {
    const { sent } = await setUp({ headers });
    const patterns = [{ urlPattern: `${origin}/*` }, { urlPattern: 'https://*@own.test/*' }];
    expect(sent).toContainEqual(['Fetch.enable', { patterns, handleAuthRequests: false }]);
    expect((await setUp({})).sent).toEqual([]);
    expect((await setUp({ headers }, { html: true })).sent).toEqual([]);
  });

  test('that the browser refuses fail the capture, unless the request is gone', async () => {
    const { emit, aborts } = await setUp({ headers }, { refused: ['Fetch.continueRequest'] });
    const commands = await emit('Fetch.requestPaused', paused(`${origin}/`));
    expect(commands.at(-1)).toEqual(['Fetch.failRequest', { requestId: '1', errorReason: 'Failed' }]);
    const message = 'headers: the browser refuses to send one of them.';
    expect(aborts).toMatchObject([{ code: 'CAPTURE_FAILED', message, causedBy: 'client' }]);
    const gone = await setUp({ headers }, { refused: ['Fetch.continueRequest', 'Fetch.failRequest'] });
    await gone.emit('Fetch.requestPaused', paused(`${origin}/`));
    expect(gone.aborts).toEqual([]);
  });
});

describe('a login', () => {
  const auth = { username: 'user', password: 'word' };
  const given = { response: 'ProvideCredentials', ...auth };
  const asked = (requestId: string, change: object = {}) => ({
    requestId,
    authChallenge: { source: 'Server', origin, ...change },
  });

  test('is given once for each request of the origin, in both sessions', async () => {
    const { emit, logins, sent } = await setUp({ auth });
    expect(sent).toContainEqual(['Fetch.enable', expect.objectContaining({ handleAuthRequests: true })]);
    const answer = async (event: object) => {
      const [[, params] = []] = (await emit('Fetch.authRequired', event)) as [string, object][];
      return params;
    };
    expect(await answer(asked('1'))).toEqual({ requestId: '1', authChallengeResponse: given });
    const cancelled = { response: 'CancelAuth' };
    expect(await answer(asked('1'))).toEqual({ requestId: '1', authChallengeResponse: cancelled });
    expect(await answer(asked('2'))).toEqual({ requestId: '2', authChallengeResponse: given });
    expect(await answer(asked('3', { source: 'Proxy' }))).toMatchObject({ authChallengeResponse: cancelled });
    expect(await answer(asked('4', { origin: 'https://cdn.test' }))).toMatchObject({
      authChallengeResponse: cancelled,
    });
    expect(logins.map((login) => login(asked('1')))).toEqual([given]);
  });

  test('is absent for supplied HTML, and ignores a request that no longer exists', async () => {
    const html = await setUp({ auth }, { html: true, headersFor: [origin] });
    expect([html.sent, html.logins]).toEqual([[], []]);
    const gone = await setUp({ auth }, { refused: ['Fetch.continueWithAuth'] });
    await gone.emit('Fetch.authRequired', asked('1'));
    expect(gone.aborts).toEqual([]);
  });
});

describe('cookies', () => {
  const cookie = { name: 'a', value: '1' };

  test('get the scope of the page, of their URL or of their domain', async () => {
    const { cookies } = await setUp({
      cookies: [
        cookie,
        { ...cookie, name: 'b', url: 'http://other.test/x', path: '/p' },
        { ...cookie, name: 'c', domain: '.Sub.test' },
        { ...cookie, name: 'd', domain: '127.0.0.1', secure: true },
        { ...cookie, name: 'e', domain: '[::1]' },
      ],
    } as never);
    expect(cookies).toEqual([
      { ...cookie, domain: 'own.test', path: '/', secure: true },
      { ...cookie, name: 'b', domain: 'other.test', path: '/p', secure: false },
      { ...cookie, name: 'c', domain: '.sub.test', path: '/', secure: false },
      { ...cookie, name: 'd', domain: '127.0.0.1', path: '/', secure: true },
      { ...cookie, name: 'e', domain: '[::1]', path: '/', secure: false },
    ]);
  });

  test('that the browser refuses or drops fail the capture with their name', async () => {
    const refused = setUp({ cookies: [cookie, { name: 'bad', value: 'refused' }] } as never);
    await expect(refused).rejects.toMatchObject({ code: 'CAPTURE_FAILED', causedBy: 'client' });
    await expect(refused).rejects.toThrow('cookies: the browser refuses the cookie "bad".');
    const dropped = setUp({ cookies: [cookie, { name: 'b', value: '2' }] } as never, {
      stored: (all) => all.slice(0, 1),
    });
    await expect(dropped).rejects.toThrow('the cookie "b"');
  });

  test('of one name are counted by their paths, even if the browser stores a path in another form', async () => {
    const [one, two] = [cookie, { ...cookie, path: '/x', domain: 'own.test' }];
    const stored = [
      { ...cookie, domain: '.own.test', path: '/%78' },
      { ...cookie, domain: 'own.test', path: '/' },
    ];
    await setUp({ cookies: [one, two] } as never, { stored: () => stored });
    await setUp({ cookies: [one, { ...cookie, value: '2' }] } as never, { stored: () => stored.slice(1) });
    const other = { ...cookie, domain: 'else.test', path: '/' };
    const dropped = setUp({ cookies: [one, two] } as never, { stored: () => [stored[0] as object, other] });
    await expect(dropped).rejects.toThrow('the cookie "a"');
  });
});
