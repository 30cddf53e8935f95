import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { htmlUrl } from '../../../services/renderer/html-url.ts';
import { navigate } from '../../../services/renderer/page/navigate.ts';
import type { AnsweringPage } from '../../harness/answering-page.ts';
import {
  failed,
  lateAt,
  type LoadState,
  never,
  open,
  pageOf,
  type Site,
  turn,
  url,
} from '../../harness/navigating-page.ts';
import { addPrivateObjects } from '../../harness/private-objects.ts';
import { defaultOptions } from '../../harness/records.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('navigate', () => {
  const limit = { timeout: 30_000 };

  test.each([
    ['commit', []],
    ['domcontentloaded', ['domcontentloaded']],
    ['load', ['domcontentloaded', 'load']],
    ['networkidle', ['domcontentloaded', 'networkidle', 'load']],
  ] as const)('waits until %s', async (waitUntil, states) => {
    const page = pageOf();
    expect(await open(page, waitUntil)).toEqual([]);
    expect(page.calls.filter(([name]) => name !== 'untilReady')).toEqual([
      ['goto', url, { waitUntil: 'commit', ...limit }],
      ...states.map((state) => [state, limit]),
    ]);
  });

  test('gives the browser one second to report a state', async () => {
    const page = pageOf();
    await open(page);
    const most = 31_000;
    expect(Object.fromEntries(page.waits)).toEqual({
      'the navigation': most,
      'waiting for domcontentloaded': most,
      'waiting for load': most,
    });
  });

  test('shares the timeout among all waits', async () => {
    const page = pageOf({ goto: () => vi.advanceTimersByTime(10_000) });
    await open(page);
    expect(page.calls).toContainEqual(['load', { timeout: 20_000 }]);
    const over = pageOf({ goto: () => vi.advanceTimersByTime(40_000) });
    await open(over);
    expect(over.calls).toContainEqual(['load', { timeout: 1 }]);
  });

  test('fails if the document is not complete in time', async () => {
    for (const waitUntil of ['domcontentloaded', 'load'] as const)
      await expect(open({ state: lateAt('domcontentloaded') }, waitUntil)).rejects.toMatchObject({
        code: 'CAPTURE_TIMEOUT',
        causedBy: 'page',
        message: 'The page was not complete within 30000 ms. Set a larger timeout to wait longer.',
      });
  });

  test('returns the state that the page did not reach in time', async () => {
    expect(await open({ state: lateAt('load') })).toEqual(['load']);
    expect(await open({ state: lateAt('networkidle') }, 'networkidle')).toEqual(['networkidle']);
    const silent = { state: (state: LoadState) => (state === 'load' ? Promise.reject(new DeadlineError('', 1)) : 0) };
    expect(await open(silent)).toEqual(['load']);
  });

  test('passes other errors on', async () => {
    const state = (name: LoadState) => (name === 'load' ? failed('Target closed')() : undefined);
    await expect(open({ state })).rejects.toThrow('Target closed');
  });

  test('asks the page whether it has reached the state after a navigation without a new document', async () => {
    const hangs = { state: () => never, document: { stayed: Promise.resolve() } };
    const page = pageOf({ ...hangs, answers: { untilReady: undefined } });
    expect(await open(page)).toEqual([]);
    expect(page.calls.filter(([name]) => name === 'untilReady')).toEqual([
      ['untilReady', 'domcontentloaded'],
      ['untilReady', 'load'],
    ]);
    expect(page.limits.get('untilReady')).toEqual({ timeoutMs: 30_000, what: 'waiting for load' });
    // If the page has not navigated, it is not asked.
    const asked = pageOf();
    await open(asked);
    expect(asked.names).not.toContain('untilReady');
  });

  test('waits for the browser if the document that was asked is gone', async () => {
    const loaded = Promise.withResolvers<void>();
    const page = pageOf({
      state: () => loaded.promise,
      document: { stayed: Promise.resolve() },
      answers: { untilReady: failed('the document is gone') },
    });
    let isDone = false;
    const opened = open(page).finally(() => (isDone = true));
    await turn();
    expect(isDone).toBe(false);
    loaded.resolve();
    expect(await opened).toEqual([]);
  });

  test('ends a wait for the idle network when the watch or the browser says so', async () => {
    const state = (name: LoadState) => (name === 'networkidle' ? never : undefined);
    expect(await open({ state, network: { untilQuiet: async () => undefined } }, 'networkidle')).toEqual([]);
    // The browser's own timer does not count if this process was blocked.
    const quiet = Promise.withResolvers<void>();
    let isDone = false;
    const network = { hasStalled: true, untilQuiet: () => quiet.promise };
    const opened = open({ network }, 'networkidle').finally(() => (isDone = true));
    await turn();
    expect(isDone).toBe(false);
    quiet.resolve();
    expect(await opened).toEqual([]);
    expect(await open({ network: { hasStalled: true } })).toEqual([]);
    const unloaded = (name: LoadState) => (name === 'domcontentloaded' ? undefined : never);
    const busy = open({ state: unloaded, network: { untilQuiet: async () => undefined } }, 'networkidle');
    expect(await Promise.race([busy, turn()])).toBeUndefined();
  });

  test('returns the state that a document whose transfer was cut off does not reach', async () => {
    const hangs = { state: () => never, answers: { isWithoutElement: false } };
    const document = { cutOff: Promise.resolve(), isCutOff: true };
    for (const waitUntil of ['domcontentloaded', 'load'] as const)
      expect(await open({ ...hangs, document }, waitUntil)).toEqual([waitUntil]);
    const loading = { ...hangs, state: (name: LoadState) => (name === 'load' ? never : turn()) };
    const cutOff = new Promise<void>((resolve) => void setImmediate(() => setImmediate(resolve)));
    expect(await open({ ...loading, document: { cutOff, isCutOff: true } })).toEqual(['load']);
  });

  test('requests a document once more that was cut off before its first element', async () => {
    const hangs = { state: () => never, document: { cutOff: Promise.resolve(), isCutOff: true } };
    const lost = [true, false];
    const page = pageOf({
      ...hangs,
      goto: () => vi.advanceTimersByTime(5000),
      answers: { isWithoutElement: () => lost.shift() },
    });
    expect(await open(page)).toEqual(['load']);
    const gotos = page.calls.filter(([name]) => name === 'goto');
    expect(gotos.map(([, , options]) => options)).toMatchObject([{ timeout: 30_000 }, { timeout: 25_000 }]);
    expect(page.calls).toContainEqual(['isWithoutElement']);
    expect(page.limits.get('isWithoutElement')).toMatchObject({ timeoutMs: 20_000 });
    const always = pageOf({ ...hangs, answers: { isWithoutElement: true } });
    await expect(open(always)).rejects.toMatchObject({
      code: 'NAVIGATION_FAILED',
      causedBy: 'page',
      message: 'The connection was closed before the page began to load.',
    });
    expect(always.calls.filter(([name]) => name === 'goto')).toHaveLength(2);
    const moving = pageOf({ document: { isCutOff: true, moving: true } });
    await open(moving, 'commit');
    expect(moving.names).toEqual(['goto']);
  });
});

describe('a page that navigates', () => {
  /** A document that navigates when it is loaded, this number of times. */
  const moves = (count: number, more: Site = {}): Site => {
    let left = count;
    const document = {
      get moving() {
        return left > 0;
      },
      settled: async () => void (left -= 1),
      ...more.document,
    };
    return { ...more, document: Object.defineProperties(document, Object.getOwnPropertyDescriptors(document)) };
  };
  const loadsOf = ({ names }: AnsweringPage) => names.filter((name) => name === 'load').length;

  test('is followed, at most ten times', async () => {
    const two = pageOf(moves(2));
    expect(await open(two)).toEqual([]);
    expect(loadsOf(two)).toBe(3);
    const many = pageOf(moves(100));
    expect(await open(many)).toEqual([]);
    expect(loadsOf(many)).toBe(11);
  });

  test('is followed if its document was cut off by the navigation', async () => {
    const cutOff = { state: () => never, document: { cutOff: Promise.resolve() } };
    const page = pageOf(moves(1, cutOff));
    expect(await open(page)).toEqual(['load']);
    // The first document is not expected to load.
    expect(page.names).toEqual(['goto', 'domcontentloaded', 'domcontentloaded']);
  });

  test('is late if the next document does not arrive in time', async () => {
    const settled = () => Promise.reject(new DeadlineError('', 1));
    expect(await open(pageOf({ document: { moving: true, settled } }), 'domcontentloaded')).toEqual([
      'domcontentloaded',
    ]);
    const gone = { document: { moving: true, settled: failed('Target closed') } };
    await expect(open(gone)).rejects.toThrow('Target closed');
  });

  test('fails if the next document is an error page', async () => {
    let isLost = false;
    const settled = async () => void (isLost = true);
    const shownUrl = () => (isLost ? 'chrome-error://chromewebdata/' : url);
    await expect(open({ shownUrl, document: { moving: true, settled } })).rejects.toMatchObject({
      code: 'NAVIGATION_FAILED',
    });
  });
});

describe('supplied HTML', () => {
  const enabled = ['Fetch.enable', { patterns: [{ urlPattern: htmlUrl, resourceType: 'Document' }] }];

  /** A session that sends a request for the page when requests are paused, and notes commands. */
  function sessionOf() {
    const sent: unknown[][] = [];
    const listeners = new Set<(paused: object) => void>();
    const session = {
      send: async (...command: unknown[]) => {
        sent.push(command);
        if (command[0] === 'Fetch.enable') for (const listener of listeners) listener({ requestId: '1' });
      },
      on: (_event: string, listener: () => void) => listeners.add(listener),
      off: (_event: string, listener: () => void) => listeners.delete(listener),
      detach: async () => void sent.push(['detach']),
    };
    return { session, sent };
  }
  const served = [
    'Fetch.fulfillRequest',
    {
      requestId: '1',
      responseCode: 200,
      responseHeaders: [{ name: 'content-type', value: 'text/html; charset=utf-8' }],
      body: Buffer.from('<p>text').toString('base64'),
    },
  ];
  const openHtml = (page: AnsweringPage) =>
    navigate(page.open, { kind: 'html', html: '<p>text' }, { ...defaultOptions, waitUntil: 'commit' });

  test('is served in the session of the page until it has arrived, if only the capture uses the session', async () => {
    const { session, sent } = sessionOf();
    const page = pageOf({ parts: { cdp: session, hasOwnSession: true } });
    await openHtml(page);
    await turn();
    expect(page.calls[0]?.[1]).toBe(htmlUrl);
    expect(page.waits.get('the html')).toBe(30_000);
    expect(sent).toEqual([enabled, served, ['Fetch.disable']]);
  });

  test('is otherwise served in another session, which ends when it has arrived', async () => {
    const { session, sent } = sessionOf();
    const page = pageOf({ parts: { hasOwnSession: false } });
    const context = {};
    Object.assign(page.events, { context: () => context });
    addPrivateObjects(page.events, context, async () => session);
    await openHtml(page);
    await turn();
    expect(sent).toEqual([enabled, served, ['detach']]);
    // The page may be closed by now.
    session.detach = () => Promise.reject(new Error('closed'));
    await openHtml(page);
    await turn();
  });
});
