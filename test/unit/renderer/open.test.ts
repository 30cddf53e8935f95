import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { BrowserLostError } from '../../../services/renderer/browser/page.ts';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';
import {
  asLaidOut,
  keepMobileLayout,
  type OpenPage,
  openPage,
  stopPage,
} from '../../../services/renderer/page/open.ts';
import { hasPainted } from '../../../services/renderer/page/scripts/measures.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';
import { StandInBrowsers } from '../../harness/stand-in-browsers.ts';

const options: RenderOptions = { ...defaultOptions, waitUntil: 'domcontentloaded' };
const metrics = 'Emulation.setDeviceMetricsOverride';
const limit = { timeoutMs: 1000, what: 'a call' };
const phone = { width: 400, height: 800, deviceScaleFactor: 2 };

interface Opening extends Partial<RenderOptions> {
  readonly browsers?: StandInBrowsers;
  readonly ownBrowser?: boolean;
  readonly reuseFor?: string;
  readonly deadline?: CaptureDeadline;
}

const newDeadline = (timeoutMs = 60_000) => new CaptureDeadline(timeoutMs, new AbortController().signal);

async function open({
  browsers = new StandInBrowsers(),
  ownBrowser = false,
  reuseFor,
  deadline,
  ...more
}: Opening = {}) {
  const request = { options: { ...options, ...more }, ownBrowser, ...(reuseFor === undefined ? {} : { reuseFor }) };
  const opened = await openPage({ browsers: browsers.browsers }, request, deadline ?? newDeadline());
  return { browsers, opened, metrics: browsers.argumentsOf(metrics).map(([params]) => params as object) };
}

/** The error with which the current wait of a capture ends. */
const endOf = ({ deadline }: OpenPage) =>
  deadline.run(new Promise(() => undefined), 1000, 'a wait').catch((error: unknown) => error as ServiceError);

const browserLost = {
  code: 'CAPTURE_FAILED',
  causedBy: 'service',
  message: 'The browser ended during the capture. Send the request again.',
};

afterEach(() => {
  vi.useRealTimers();
});

describe('the browser', () => {
  test('gives the page that the request asks for', async () => {
    const { browsers } = await open({ antiBot: true, ownBrowser: true });
    expect(browsers.wanted).toEqual([{ antiBot: true, ownBrowser: true, reuseFor: undefined }]);
    expect((await open({ reuseFor: 'acme' })).browsers.wanted).toMatchObject([{ reuseFor: 'acme' }]);
    const located = await open({ reuseFor: 'acme', locale: 'de-DE' });
    expect(located.browsers.wanted).toMatchObject([{ reuseFor: undefined }]);
  });

  test('that is lost fails the capture', async () => {
    const cause = new BrowserLostError();
    const lost = new StandInBrowsers({ acquire: () => Promise.reject(cause) });
    await expect(open({ browsers: lost })).rejects.toMatchObject({ ...browserLost, cause });
    const other = new Error('other');
    await expect(open({ browsers: new StandInBrowsers({ acquire: () => Promise.reject(other) }) })).rejects.toBe(other);
  });

  test('gets a page back that arrives too late', async () => {
    const arrival = Promise.withResolvers<void>();
    const browsers = new StandInBrowsers({ acquire: () => arrival.promise });
    await expect(open({ browsers, deadline: newDeadline(1) })).rejects.toMatchObject({ code: 'CAPTURE_TIMEOUT' });
    expect(browsers.releases).toEqual([]);
    arrival.resolve();
    await vi.waitFor(() => expect(browsers.releases).toHaveLength(1));
  });
});

describe('a page', () => {
  test('that does not respond while it is set up fails the capture, and is closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const browsers = new StandInBrowsers({ emulateMedia: new Promise(() => undefined) });
    const failure = open({ browsers, colorScheme: 'dark' }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(9999);
    expect(browsers.releases).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await failure).toMatchObject({
      ...browserLost,
      cause: expect.objectContaining({ name: 'BrowserLostError', message: 'the new page does not respond' }),
    });
    expect(browsers.releases).toEqual([undefined]);
  });

  test('that cannot be set up fails the capture with the error', async () => {
    const error = new Error('refused');
    const browsers = new StandInBrowsers({ emulateMedia: () => Promise.reject(error) });
    await expect(open({ browsers, colorScheme: 'dark' })).rejects.toBe(error);
    expect(browsers.releases).toEqual([undefined]);
  });

  test('that crashes fails the capture, because of the page only if it has navigated', async () => {
    const unused = await open();
    unused.browsers.page.emit('crash');
    const cause = expect.objectContaining({ name: 'BrowserLostError', message: 'an unused page crashed' });
    expect(await endOf(unused.opened)).toMatchObject({ ...browserLost, cause });
    const used = await open();
    used.browsers.url = 'http://page.test/';
    used.browsers.page.emit('crash');
    expect(await endOf(used.opened)).toMatchObject({
      code: 'CAPTURE_FAILED',
      causedBy: 'page',
      message: 'The page crashed or exceeded its memory limit.',
    });
  });

  test('that is closed or exceeds a limit ends the capture', async () => {
    const closed = await open();
    closed.browsers.page.emit('close');
    expect(await endOf(closed.opened)).toMatchObject({ ...browserLost, cause: expect.any(BrowserLostError) });
    const large = await open();
    const reason = new ServiceError('PAGE_TOO_LARGE', 'too large');
    large.browsers.exceeded.abort(reason);
    expect(await endOf(large.opened)).toBe(reason);
  });

  test('is released with everything that watched it', async () => {
    const { browsers, opened } = await open();
    const cleanUp = vi.fn<() => void>();
    opened.onRelease(cleanUp);
    const abort = vi.spyOn(opened.deadline, 'abort');
    expect(browsers.page.eventNames()).not.toEqual([]);
    await opened.release({ timedOut: true });
    expect(browsers.releases).toEqual([{ timedOut: true }]);
    expect([browsers.page.eventNames(), browsers.cdp.eventNames()]).toEqual([[], []]);
    expect(cleanUp).toHaveBeenCalledOnce();
    browsers.exceeded.abort(new ServiceError('PAGE_TOO_LARGE', 'too large'));
    expect(abort).not.toHaveBeenCalled();
  });

  test('has a session for its targets only if a step needs it, until another capture uses the page', async () => {
    const unused = await open();
    for (const undo of unused.browsers.undo) await undo();
    expect(unused.browsers.sessionCalls).toEqual([]);
    const { browsers, opened } = await open();
    await opened.targets.follow();
    await opened.targets.follow();
    expect(browsers.sessionCalls.map(([name]) => name)).toEqual(['newCDPSession', 'Target.setAutoAttach']);
    for (const undo of browsers.undo) await undo();
    expect(browsers.sessionCalls.at(-1)).toEqual(['detach']);
  });

  test('runs scripts in its current document', async () => {
    const { browsers, opened } = await open();
    const worlds = () => browsers.argumentsOf('Page.createIsolatedWorld').length;
    await opened.world.call(hasPainted, [], limit);
    await opened.world.call(hasPainted, [], limit);
    expect(worlds()).toBe(1);
    browsers.page.emit('framenavigated', opened.page.mainFrame());
    await opened.world.call(hasPainted, [], limit);
    expect(worlds()).toBe(2);
  });
});

describe('the options', () => {
  test('set the color scheme and reduced motion, until the page serves another capture', async () => {
    const featuresOf = async (features: Partial<RenderOptions>) => {
      const { browsers } = await open(features);
      const set = browsers.argumentsOf('emulateMedia').flat();
      for (const undo of browsers.undo) await undo();
      return [set, browsers.argumentsOf('emulateMedia').flat().slice(set.length)];
    };
    const undone = [{ colorScheme: 'light', reducedMotion: 'no-preference' }];
    expect(await featuresOf({})).toEqual([[], []]);
    expect(await featuresOf({ colorScheme: 'dark' })).toEqual([[{ colorScheme: 'dark' }], undone]);
    expect(await featuresOf({ reducedMotion: true })).toEqual([[{ reducedMotion: 'reduce' }], undone]);
  });

  test('keep the drawings of canvases for a pdf, until the page serves another capture', async () => {
    let disposed = 0;
    const addInitScript = { dispose: async () => void (disposed += 1) };
    const scriptsOf = async (more: Opening) => {
      const { browsers } = await open({ browsers: new StandInBrowsers({ addInitScript }), ...more });
      const scripts = browsers.argumentsOf('addInitScript').flat() as { readonly content: string }[];
      expect(disposed).toBe(0);
      for (const undo of browsers.undo) await undo();
      return scripts.map(({ content }) => content);
    };
    expect(await scriptsOf({})).toEqual([]);
    // With antiBot, no function of a page is replaced.
    expect(await scriptsOf({ format: 'pdf', antiBot: true })).toEqual([]);
    expect(disposed).toBe(0);
    expect(await scriptsOf({ format: 'pdf' })).toEqual([
      expect.stringMatching(/^\(function keepDrawings\(\) [^]*\)\(\)$/),
    ]);
    expect(disposed).toBe(1);
  });

  test('ignore errors of certificates only if they say so', async () => {
    const name = 'Security.setIgnoreCertificateErrors';
    const ignoring = await open({ ignoreTlsErrors: true });
    expect(ignoring.browsers.argumentsOf(name)).toEqual([[{ ignore: true }]]);
    expect((await open()).browsers.names).not.toContain(name);
  });

  test('prepare documents before their scripts', async () => {
    const preparedBy = async (more: Partial<RenderOptions>) => {
      const { browsers } = await open(more);
      const sources = JSON.stringify(browsers.argumentsOf('Page.addScriptToEvaluateOnNewDocument'));
      return [...sources.matchAll(/\(function (\w+)\(\) (?:(?!\(function).)*\)\(\) \}/g)].map(([, name]) => name);
    };
    expect(await preparedBy({})).toEqual([]);
    expect(await preparedBy({ isFullPage: true })).toEqual(['interceptResizes']);
    expect(await preparedBy({ waitUntil: 'load' })).toEqual(['watchFirstContent']);
    expect(await preparedBy({ click: ['a'] })).toEqual(['stayInWindow']);
  });
});

describe('the viewport', () => {
  const shown = { dontSetVisibleSize: false, mobile: false, screenOrientationLockEmulation: true };

  test('is not set if a warm page has it', async () => {
    const { browsers, opened } = await open();
    expect(browsers.names).not.toContain(metrics);
    expect([opened.emulation.viewport, opened.emulation.width, opened.emulation.isMobile]).toEqual([
      defaultOptions.viewport,
      1280,
      false,
    ]);
  });

  test.each([
    { width: 1281, height: 720, deviceScaleFactor: 1 },
    { width: 1280, height: 721, deviceScaleFactor: 1 },
    { width: 1280, height: 720, deviceScaleFactor: 2 },
  ])('of $width × $height px and scale $deviceScaleFactor is set with its screen', async (viewport) => {
    const { width: screenWidth, height: screenHeight } = viewport;
    expect((await open({ viewport })).metrics).toEqual([{ ...viewport, ...shown, screenWidth, screenHeight }]);
  });

  test('may be smaller than the screen, but not larger', async () => {
    const { viewport } = options;
    const large = await open({ screen: { width: 2000, height: 3000 } });
    expect(large.metrics).toEqual([{ ...viewport, ...shown, screenWidth: 2000, screenHeight: 3000 }]);
    expect(large.browsers.names).not.toContain('Browser.setWindowBounds');
    const small = await open({ screen: { width: 20, height: 30 } });
    expect(small.metrics).toMatchObject([{ screenWidth: 1280, screenHeight: 720 }]);
  });

  test('of a phone has an orientation', async () => {
    const portrait = { screenOrientation: { angle: 0, type: 'portraitPrimary' }, mobile: true };
    const landscape = { screenOrientation: { angle: 90, type: 'landscapePrimary' }, mobile: true };
    const onPhone = async (width: number, height: number) =>
      (await open({ isMobile: true, viewport: { width, height, deviceScaleFactor: 1 } })).metrics;
    expect(await onPhone(400, 800)).toMatchObject([portrait]);
    expect(await onPhone(400, 400)).toMatchObject([portrait]);
    expect(await onPhone(401, 400)).toMatchObject([landscape]);
    expect(await onPhone(1280, 720)).toMatchObject([landscape]);
    expect((await open({ viewport: phone })).metrics[0]).not.toHaveProperty('screenOrientation');
    expect((await open({ isMobile: true, viewport: phone })).opened.emulation.isMobile).toBe(true);
  });

  test('of a pdf is laid out but not drawn', async () => {
    const { browsers, metrics: sent, opened } = await open({ format: 'pdf', isMobile: true });
    expect(sent).toEqual([
      { ...options.viewport, ...shown, screenWidth: 1280, screenHeight: 720, dontSetVisibleSize: true },
    ]);
    expect(browsers.argumentsOf('Emulation.setVisibleSize')).toEqual([[{ width: 16, height: 16 }]]);
    expect(opened.emulation.isMobile).toBe(false);
    expect((await open({ viewport: phone })).browsers.names).not.toContain('Emulation.setVisibleSize');
  });

  test('has the window of a person with antiBot', async () => {
    const { screenOrientationLockEmulation: _, ...unlocked } = shown;
    for (const format of ['png', 'pdf'] as const) {
      const { browsers, metrics: sent } = await open({ antiBot: true, format });
      expect(sent).toEqual([{ ...options.viewport, ...unlocked, screenWidth: 1281, screenHeight: 722 }]);
      const bounds = { width: 1283, height: 724 };
      expect(browsers.argumentsOf('Browser.setWindowBounds')).toEqual([[{ windowId: 7, bounds }]]);
    }
    const plain = await open({ antiBot: true, isMobile: true, viewport: phone });
    expect(plain.metrics).toMatchObject([{ screenWidth: 400, screenHeight: 800 }]);
    expect(plain.browsers.names).not.toContain('Browser.setWindowBounds');
    const screen = { width: 500, height: 900 };
    const onPhone = await open({ antiBot: true, isMobile: true, screen, viewport: phone });
    expect(onPhone.metrics).toMatchObject([{ screenWidth: 500, screenHeight: 900 }]);
    expect(onPhone.browsers.argumentsOf('Browser.setWindowBounds')).toMatchObject([
      [{ bounds: { width: 400, height: 800 } }],
    ]);
  });

  test('changes its layout without its visible size', async () => {
    const { browsers, opened } = await open({ viewport: { width: 640, height: 480, deviceScaleFactor: 2 } });
    const last = () => browsers.argumentsOf(metrics).at(-1)?.[0];
    await opened.emulation.grow(2000);
    expect(last()).toMatchObject({ width: 640, height: 2000, deviceScaleFactor: 2, dontSetVisibleSize: true });
    await opened.emulation.setLayoutWidth(700);
    expect(last()).toMatchObject({ width: 700, height: 480, dontSetVisibleSize: true });
    expect(opened.emulation.width).toBe(700);
    await opened.emulation.setLayoutWidth(600, 50);
    expect(last()).toMatchObject({ width: 600, height: 50 });
    expect(opened.emulation.viewport.width).toBe(640);
  });

  test('of a phone becomes that of a desktop with the same picture, and back', async () => {
    const { browsers, opened } = await open({ isMobile: true, viewport: phone });
    const { emulation } = opened;
    await emulation.useMobileMetrics();
    expect(browsers.argumentsOf(metrics)).toHaveLength(1);
    await emulation.useDesktopMetrics(1000);
    const desktop = { width: 1000, height: 2000, deviceScaleFactor: 0.8 };
    expect(browsers.argumentsOf(metrics).at(-1)).toMatchObject([{ ...desktop, ...shown, screenWidth: 400 }]);
    expect([emulation.viewport, emulation.width, emulation.isMobile]).toEqual([desktop, 1000, false]);
    await emulation.useMobileMetrics();
    expect(browsers.argumentsOf(metrics).at(-1)).toMatchObject([{ ...phone, mobile: true, dontSetVisibleSize: false }]);
    expect([emulation.viewport, emulation.width, emulation.isMobile]).toEqual([phone, 400, true]);
    const flat = await open({ isMobile: true, viewport: { width: 4000, height: 1, deviceScaleFactor: 1 } });
    await flat.opened.emulation.useDesktopMetrics(100);
    expect(flat.opened.emulation.viewport.height).toBe(1);
  });
});

describe('keepMobileLayout', () => {
  const keep = async (readLayoutWidth: unknown, isMobile = true) => {
    const widths: number[] = [];
    const emulation = {
      isMobile,
      viewport: phone,
      useDesktopMetrics: async (width: number) => void widths.push(width),
    };
    const page = new AnsweringPage({ readLayoutWidth }, { emulation });
    await keepMobileLayout(page.open);
    return { page, widths };
  };

  test('shows the layout of a phone in a desktop viewport of the same width', async () => {
    const { page, widths } = await keep(980);
    expect([page.calls, widths]).toEqual([[['readLayoutWidth']], [980]]);
    const desktop = await keep(980, false);
    expect([desktop.page.calls, desktop.widths]).toEqual([[], []]);
  });

  test('zooms into a narrow page at most five times', async () => {
    expect((await keep(79)).widths).toEqual([80]);
  });

  test('takes the width of the phone for a page that does not respond', async () => {
    expect((await keep(() => Promise.reject(new DeadlineError('', 1)))).widths).toEqual([400]);
    await expect(keep(() => Promise.reject(new Error('Target closed')))).rejects.toThrow('Target closed');
  });
});

test('asLaidOut changes the options only for a page in another viewport', () => {
  const { open: page } = new AnsweringPage({});
  const own = { ...options, viewport: page.emulation.viewport };
  expect(asLaidOut(page, own)).toBe(own);
  expect(asLaidOut(page, options)).toEqual(own);
});

test('stopPage stops scripts and loading for good', async () => {
  const { browsers, opened } = await open();
  const run = vi.spyOn(opened.deadline, 'run');
  await stopPage(opened);
  expect(opened.world.isStopped).toBe(true);
  expect(browsers.names.slice(-3)).toEqual([
    'Emulation.setScriptExecutionDisabled',
    'Runtime.terminateExecution',
    'Page.stopLoading',
  ]);
  expect(run.mock.calls.map(([, ...rest]) => rest)).toEqual([[15_000, 'stopping the page']]);
});
