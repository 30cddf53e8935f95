import { getEventListeners } from 'node:events';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { errors } from 'playwright';
import sharp from 'sharp';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { BrowserLostError } from '../../../services/renderer/browser/page.ts';
import { diagnosticsOf } from '../../../services/renderer/diagnostics/trace.ts';
import { render } from '../../../services/renderer/page/render.ts';
import { chromiumPdf } from '../../harness/chromium-pdf.ts';
import { answerOfPrint } from '../../harness/printing.ts';
import { blank, drawn, failing, never, rendered, requestOf, shotName } from '../../harness/rendering.ts';
import { StandInBrowsers } from '../../harness/stand-in-browsers.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a rendering', () => {
  test('has the picture and the report of the page', async () => {
    const { rendering, failure, stand } = await rendered();
    expect(failure).toBeUndefined();
    const duration: unknown = expect.toSatisfy((ms: number) => ms >= 0 && ms < 60_000);
    expect(rendering).toEqual({
      bytes: Buffer.from(drawn, 'base64'),
      mimeType: 'image/png',
      width: 64,
      height: 48,
      report: {
        httpStatus: null,
        responseUrl: null,
        finalUrl: 'http://page.test/',
        title: 'title',
        challenge: false,
        images: { loaded: 1, failed: 2, pending: 0 },
        blockedRequests: 0,
        softTimeouts: [],
        strategy: 'single',
        truncated: false,
        blank: false,
        timings: { openMs: duration, navigateMs: duration, settleMs: duration, shootMs: duration },
      },
    });
    expect(stand.releases).toEqual([{ timedOut: false, hasCompleted: true }]);
    expect([stand.page.eventNames(), stand.cdp.eventNames()]).toEqual([[], []]);
    const { signal } = new AbortController();
    await rendered({ request: { signal } });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('times its steps one after another, from the time at which the job was taken', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const after = (ms: number) => () => {
      vi.advanceTimersByTime(ms);
      return { data: drawn };
    };
    const answers = { goto: after(100), waitForAssets: after(20), [shotName]: after(300) };
    const { rendering } = await rendered({ answers, request: { takenAt: performance.now() - 40 } });
    expect(rendering?.report.timings).toEqual({ openMs: 40, navigateMs: 100, settleMs: 20, shootMs: 300 });
  });

  test('counts what its proxy has refused', async () => {
    const { proxySession } = await new StandInBrowsers().browsers.acquire({ antiBot: false, ownBrowser: false });
    const stats = () => ({ ...proxySession.stats(), blockedRequests: 3 });
    const { rendering } = await rendered({ parts: { proxySession: { ...proxySession, stats } } });
    expect(rendering?.report.blockedRequests).toBe(3);
  });

  test('of a pdf has its pages and the size of the first one', async () => {
    const pdf = chromiumPdf({ contents: ['', ''] });
    const answers = {
      'Page.printToPDF': answerOfPrint(pdf),
      isInert: true,
      addInitScript: { dispose: () => undefined },
    };
    const { rendering, stand } = await rendered({ format: 'pdf', answers });
    expect(rendering).toMatchObject({ bytes: pdf, mimeType: 'application/pdf', width: 800, height: 1067, pages: 2 });
    expect(rendering?.report).toMatchObject({ softTimeouts: [], blank: true });
    expect(stand.names).not.toContain(shotName);
    expect(JSON.stringify(stand.argumentsOf('addInitScript'))).toContain('keepDrawings');
    // Elements that are fixed to the viewport are printed once, but on every page of supplied HTML.
    expect(stand.names).toContain('placeFixedOnce');
    const html = await rendered({ format: 'pdf', answers, request: { source: { kind: 'html', html: '' } } });
    expect(html.stand.names).not.toContain('placeFixedOnce');
    expect((await rendered()).stand.names).not.toContain('addInitScript');
  });

  test('has the size before it was resized', async () => {
    const resize = { width: 32, fit: 'inside', enlarge: false } as const;
    const { rendering } = await rendered({ resize });
    expect(rendering).toMatchObject({ width: 32, report: { originalSize: { width: 64, height: 48 } } });
  });

  test('of a full page has its strategy', async () => {
    const answers = {
      measurePage: { height: 48, width: 64, left: 0, viewHeight: 48, contentHeight: 48 },
      findScroller: null,
      isLocked: false,
      shareOfScenes: 0,
      countUnseen: 0,
      waitForReveals: 0,
      scrollThrough: { reachedEnd: false, height: 480, scripted: true },
    };
    const tall = { ...answers.measurePage, height: 480 };
    const { rendering } = await rendered({ isFullPage: true, answers });
    expect(rendering?.report).toMatchObject({ strategy: 'single', truncated: false });
    const shot = sharp({ create: { width: 64, height: 480, channels: 3, background: '#00aa00' } });
    const data = (await shot.png().toBuffer()).toString('base64');
    const grown = await rendered({
      isFullPage: true,
      answers: { ...answers, measurePage: tall, [shotName]: { data } },
    });
    expect(grown.rendering).toMatchObject({ height: 480, report: { strategy: 'grown' } });
  });

  test('extracts parts of the page before the picture', async () => {
    const extracted = { text: 'text' };
    const { rendering, stand } = await rendered({ extract: ['text'], answers: { extractParts: extracted } });
    expect(rendering?.extracted).toEqual(extracted);
    expect(rendering?.report.softTimeouts).toEqual([]);
    expect(stand.names.indexOf('extractParts')).toBeLessThan(stand.names.indexOf(shotName));
    const gone = await rendered({ extract: ['text'], answers: { extractParts: never }, answerTimeoutMs: 50 });
    expect(gone.rendering).not.toHaveProperty('extracted');
    expect(gone.rendering?.report.softTimeouts).toEqual(['extract']);
  });

  test('without a picture has the extracted parts as its file', async () => {
    const options: Parameters<typeof rendered>[0] = { format: 'none', extract: ['text'] };
    const { rendering, stand } = await rendered({ ...options, answers: { extractParts: { text: 'text' } } });
    expect(rendering).toMatchObject({ bytes: Buffer.from('{"text":"text"}'), mimeType: 'application/json' });
    expect(rendering).not.toHaveProperty('extracted');
    expect(stand.names).not.toContain(shotName);
    const gone = await rendered({ ...options, answers: { extractParts: never }, answerTimeoutMs: 50 });
    expect(gone.failure).toMatchObject({ code: 'CAPTURE_TIMEOUT', causedBy: 'page' });
  });

  test('clicks and waits for elements before it settles', async () => {
    const click = await rendered({ click: ['a'], answers: { untilFound: 'found', pointToClick: { x: 1, y: 2 } } });
    const { names } = click.stand;
    expect(names.indexOf('goto')).toBeLessThan(names.indexOf('Input.dispatchMouseEvent'));
    expect(names.indexOf('Input.dispatchMouseEvent')).toBeLessThan(names.indexOf('waitForAssets'));
    const waitFor = { selector: 'a', state: 'visible', timeout: 1, required: false } as const;
    const waited = await rendered({ waitFor, answers: { untilFound: 'missed' } });
    expect(waited.rendering?.report.softTimeouts).toEqual(['waitFor']);
  });

  test('is late if the page did not load in time', async () => {
    const late = new errors.TimeoutError('late');
    const { rendering, stand } = await rendered({
      answers: { waitForLoadState: (state: string) => (state === 'load' ? Promise.reject(late) : undefined) },
    });
    expect(rendering?.report.softTimeouts).toEqual(['load']);
    expect(stand.names).not.toContain('untilTimersRan');
  });

  test('has diagnostics only if they are requested', async () => {
    const { rendering } = await rendered({ diagnostics: true });
    expect(rendering?.diagnostics?.diagnostics.steps.map(({ name }) => name)).toEqual([
      'setUp',
      'navigation',
      'settle',
      'picture',
    ]);
    expect((await rendered()).rendering).not.toHaveProperty('diagnostics');
    const all = await rendered({
      diagnostics: true,
      click: ['a'],
      waitFor: { selector: 'a', state: 'visible', timeout: 1, required: false },
      extract: ['text'],
      request: { secrets: { script: '1' } },
      answers: {
        untilFound: 'found',
        pointToClick: { x: 1, y: 2 },
        extractParts: {},
        'Runtime.evaluate': {},
        waitForReveals: 0,
      },
    });
    const steps = all.rendering?.diagnostics?.diagnostics.steps.map(({ name }) => name);
    expect(steps?.slice(2)).toEqual(['script', 'click', 'waitFor', 'settle', 'extract', 'picture']);
  });

  test('reports a state that the page reached only because a request was dropped', async () => {
    const { proxySession } = await new StandInBrowsers().browsers.acquire({ antiBot: false, ownBrowser: false });
    const timeoutsOf = async (waitUntil: 'load' | 'commit') => {
      const dropped = Promise.withResolvers<void>();
      const cutSilent = () => {
        dropped.resolve();
        return 1;
      };
      const sheet = {
        resourceType: () => 'stylesheet',
        isNavigationRequest: () => false,
        frame: () => ({}),
        url: () => '',
      };
      const goto = async () => {
        stand.page.emit('request', sheet);
        await dropped.promise;
      };
      const answers = { [shotName]: () => ({ data: drawn }), goto };
      const stand: StandInBrowsers = new StandInBrowsers(answers, { proxySession: { ...proxySession, cutSilent } });
      const deps = { browsers: stand.browsers, blocker: undefined as never, responseTimeoutMs: 20 };
      return (await render(requestOf({ waitUntil }), deps)).report.softTimeouts;
    };
    expect(await timeoutsOf('load')).toEqual(['load']);
    expect(await timeoutsOf('commit')).toEqual([]);
  });
});

describe('the second look', () => {
  const shots = (...pictures: readonly string[]) => {
    const left = [...pictures];
    return () => ({ data: left.length > 1 ? left.shift() : left[0] });
  };

  test('retakes a picture of a single color after the scripts of the page have paused', async () => {
    const answers = { [shotName]: shots(blank, drawn), waitForScripts: true };
    const { rendering, stand } = await rendered({ answers });
    expect(rendering?.report.blank).toBe(false);
    expect(stand.argumentsOf('waitForScripts')).toEqual([[1000]]);
    const still = await rendered({ answers: { [shotName]: shots(blank), waitForScripts: true } });
    expect(still.rendering?.report.blank).toBe(true);
    expect(still.stand.argumentsOf(shotName)).toHaveLength(2);
  });

  test('is not taken if the picture shows something, the page has no scripts that pause, or time is short', async () => {
    expect((await rendered()).stand.names).not.toContain('waitForScripts');
    const unscripted = await rendered({ answers: { [shotName]: shots(blank, drawn), waitForScripts: false } });
    expect(unscripted.rendering?.report.blank).toBe(true);
    const slow = () => new Promise((resolve) => void setTimeout(() => resolve(true), 50));
    const waited = await rendered({ answers: { [shotName]: shots(blank, drawn), waitForScripts: slow } });
    expect(waited.rendering?.report.blank).toBe(false);
    const short = await rendered({
      answers: { [shotName]: shots(blank, drawn), waitForScripts: true },
      deadlineMs: 4900,
    });
    expect(short.rendering?.report.blank).toBe(true);
    expect(short.stand.names).not.toContain('waitForScripts');
  });

  test('is given up for a page that does not pause or navigates, but not for other errors', async () => {
    const lookAt = (waitForScripts: unknown) =>
      rendered({ answers: { [shotName]: shots(blank, drawn), waitForScripts }, answerTimeoutMs: 50 });
    expect((await lookAt(never)).rendering?.report.blank).toBe(true);
    const moves = () => Promise.reject(new DocumentGoneError(undefined));
    expect((await lookAt(moves)).rendering?.report.blank).toBe(true);
    const broken = await lookAt(() => Promise.reject(new Error('broken')));
    expect(broken.failure).toMatchObject({ code: 'CAPTURE_FAILED', causedBy: 'service' });
  });
});

describe('a failed rendering', () => {
  const timeout = new ServiceError('CAPTURE_TIMEOUT', 'late', { causedBy: 'page' });

  test('has the error of the step, with its diagnostics', async () => {
    const { failure, stand } = await rendered({
      ...failing(timeout, 'goto'),
      answers: { ...failing(timeout, 'goto').answers, responds: true },
    });
    expect(failure).toBe(timeout);
    expect(diagnosticsOf(failure)?.diagnostics.error).toEqual({ code: 'CAPTURE_TIMEOUT', message: 'late' });
    expect(stand.releases).toEqual([{ timedOut: true, hasCompleted: false }]);
  });

  test('is retried if it timed out and the browser does not respond, unless time is short', async () => {
    const silent = { answers: { goto: () => Promise.reject(timeout), responds: false } };
    const { failure, stand } = await rendered(silent);
    expect(failure).toMatchObject({ code: 'CAPTURE_TIMEOUT', message: 'late', causedBy: 'page' });
    expect(failure?.cause).toMatchObject({
      name: 'BrowserSilentError',
      message: 'the browser did not respond',
      cause: timeout,
    });
    expect(stand.releases).toEqual([{ timedOut: true, hasCompleted: false }]);
    const short = await rendered({ ...silent, deadlineMs: 4900 });
    expect(short.failure).toBe(timeout);
    expect(short.stand.names).not.toContain('responds');
    const other = new ServiceError('CAPTURE_FAILED', 'other', { causedBy: 'page' });
    const failed = await rendered({ answers: { goto: () => Promise.reject(other), responds: false } });
    expect(failed.failure).toBe(other);
    expect(failed.stand.releases).toEqual([{ timedOut: false, hasCompleted: false }]);
  });

  test('has no diagnostics without a page, without a browser and if the capture was cancelled', async () => {
    const unopened = await rendered(failing(new Error('no browser'), 'acquire'));
    expect(unopened.failure).toMatchObject({ code: 'CAPTURE_FAILED', causedBy: 'service' });
    expect(diagnosticsOf(unopened.failure)).toBeUndefined();
    const late = await rendered({ ...failing(timeout, 'acquire') });
    expect(late.failure).toBe(timeout);
    const cause = new BrowserLostError();
    const lost = await rendered(
      failing(new ServiceError('CAPTURE_FAILED', 'lost', { causedBy: 'service', cause }), 'goto'),
    );
    expect(diagnosticsOf(lost.failure)).toBeUndefined();
    const cancelled = new AbortController();
    const goto = () => {
      cancelled.abort();
      return never;
    };
    const ended = await rendered({ answers: { goto }, request: { signal: cancelled.signal } });
    expect(ended.failure).toMatchObject({ causedBy: 'client', message: 'The capture was cancelled.' });
    expect(diagnosticsOf(ended.failure)).toBeUndefined();
  });

  test('says why the page could not be captured', async () => {
    const silent = await rendered({ answers: { readPageFacts: never, responds: true }, answerTimeoutMs: 50 });
    expect(silent.failure).toMatchObject({
      code: 'CAPTURE_TIMEOUT',
      causedBy: 'page',
      message: 'The page kept the browser busy and could not be captured.',
      cause: expect.any(DeadlineError),
    });
    expect((await rendered(failing(new DocumentGoneError(undefined), 'readPageFacts'))).failure).toMatchObject({
      code: 'CAPTURE_FAILED',
      causedBy: 'page',
      message: 'The page kept navigating to another page.',
    });
    const other = new Error('Target closed');
    expect((await rendered(failing(other, 'goto'))).failure).toMatchObject({ causedBy: 'page' });
    expect((await rendered(failing(other, 'Emulation.setDeviceMetricsOverride'))).failure).toMatchObject({
      code: 'CAPTURE_FAILED',
      causedBy: 'service',
      cause: other,
    });
  });

  test('is the fault of the service until the navigation begins', async () => {
    const late = () => Promise.reject(new DeadlineError('the locale', 1));
    const answers = { 'Emulation.setLocaleOverride': late, responds: true };
    const before = await rendered({ locale: 'de-DE', answers });
    expect(before.failure).toMatchObject({ code: 'CAPTURE_TIMEOUT', causedBy: 'service' });
  });

  test('that ends at its deadline closes the page', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const goto = () => {
      setImmediate(() => void vi.advanceTimersByTimeAsync(20_000));
      return never;
    };
    const { failure, stand } = await rendered({ answers: { goto }, deadlineMs: 20_000 });
    expect(failure).toMatchObject({ code: 'CAPTURE_TIMEOUT', causedBy: 'page' });
    expect(stand.releases).toEqual([{ timedOut: true, hasCompleted: false }]);
  });

  test('does not open addresses that are not http or https', async () => {
    const { failure, stand } = await rendered({ request: { source: { kind: 'url', url: 'file:///etc/passwd' } } });
    expect(failure).toMatchObject({ code: 'NAVIGATION_FAILED' });
    expect(stand.wanted).toEqual([]);
  });

  test('is caused by the client if a failOn condition applies', async () => {
    const { failure } = await rendered({ failOn: { blank: true }, answers: { [shotName]: () => ({ data: blank }) } });
    expect(failure).toMatchObject({
      code: 'CAPTURE_FAILED',
      causedBy: 'client',
      message: expect.stringContaining('failOn.blank'),
    });
  });
});

test('the page is closed when the response was sent, or at once if the rendering failed', async () => {
  const answered = Promise.withResolvers<void>();
  const done = await rendered({ request: { answered: answered.promise } });
  expect(done.stand.releases).toEqual([]);
  answered.resolve();
  await vi.waitFor(() => expect(done.stand.releases).toHaveLength(1));
  const error = new ServiceError('CAPTURE_FAILED', 'other', { causedBy: 'page' });
  const failed = await rendered({ ...failing(error, 'goto'), request: { answered: never } });
  await vi.waitFor(() => expect(failed.stand.releases).toHaveLength(1));
  const gone = Promise.reject(new Error('the client is gone'));
  gone.catch(() => undefined);
  const refused = await rendered({ request: { answered: gone } });
  await vi.waitFor(() => expect(refused.stand.releases).toHaveLength(1));
});
