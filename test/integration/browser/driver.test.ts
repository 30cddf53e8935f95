import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { EventEmitter } from 'node:events';
import type { Writable } from 'node:stream';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { launchBrowser, type LaunchedBrowser } from '../../../services/renderer/browser/launch.ts';
import { CaptureBrowser, type BrowserSource } from '../../../services/renderer/browser/capture-browser.ts';
import { fileOf } from '../../../services/renderer/browser/file-responses.ts';
import { PipeThrottle } from '../../../services/renderer/browser/pipe-throttle.ts';
import { attachSession, checkDriver, withoutCallTraces } from '../../../services/renderer/browser/driver.ts';
import { evaluate } from '../../../services/renderer/browser/isolated-world.ts';
import { openWarmPage, type WarmPage } from '../../../services/renderer/browser/page.ts';
import { headlessShellSwitches } from '../../../services/renderer/browser/switches.ts';
import { type EgressProxy, startEgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { engineConfig, log } from '../../harness/engine.ts';

// Checks the installed Playwright for the internals that the renderer uses.

const executablePath = engineConfig.headlessShellPath;
const parts = new AsyncDisposableStack();
let egress: EgressProxy;
let launched: LaunchedBrowser;
let warm: WarmPage;
/** Number of CDP sessions after the page was opened. */
let sessions: number;

/** A picture of random pixels needs nearly three bytes for each of them. */
const drawNoise = `{
  const canvas = Object.assign(document.createElement('canvas'), { width: 300, height: 300 });
  const context = document.body.appendChild(canvas).getContext('2d');
  const picture = context.createImageData(300, 300);
  picture.data.forEach((_, at) => (picture.data[at] = at % 4 === 3 ? 255 : Math.random() * 256));
  context.putImageData(picture, 0, 0);
}`;

interface Connection {
  readonly _sessions: ReadonlyMap<string, unknown>;
  readonly _transport: { readonly _pipeWrite: Writable };
}

function connectionOf({ browser }: LaunchedBrowser): Connection {
  const { _connection } = browser as unknown as {
    readonly _connection: { toImpl(object: object): { readonly _connection: Connection } };
  };
  return _connection.toImpl(browser)._connection;
}

beforeAll(async () => {
  egress = await startEgressProxy({ policy: createEgressPolicy({ allow: [] }), log });
  parts.defer(() => egress.close());
  launched = await launchBrowser({ executablePath, sandbox: 'off', switches: headlessShellSwitches });
  parts.defer(() => launched.close());
  const before = connectionOf(launched)._sessions.size;
  warm = await openWarmPage(launched, egress);
  sessions = connectionOf(launched)._sessions.size - before;
});

afterAll(() => parts.disposeAsync());

test('a page uses the CDP session that Playwright has with it', async () => {
  expect(sessions).toBe(1);
  const { frameTree } = await warm.cdp.send('Page.getFrameTree');
  expect(frameTree.frame.id).toBe(warm.frameId);
});

test('an attached session is not known to Playwright', async () => {
  const objects = () =>
    (launched.browser as unknown as { readonly _connection: { readonly _objects: ReadonlyMap<string, unknown> } })
      ._connection._objects.size;
  const [before, { size }] = [objects(), connectionOf(launched)._sessions];
  const own = await attachSession(warm.page);
  expect(objects()).toBe(before);
  const navigated = new Promise((resolve) => own.on('Page.frameNavigated', resolve));
  await own.send('Page.enable');
  await warm.page.goto('about:blank#elsewhere');
  await warm.page.goto('about:blank');
  await navigated;
  await own.detach();
  // The remaining session is that of the browser, which attaches others.
  expect(connectionOf(launched)._sessions.size).toBe(size + 1);
});

test('calls within withoutCallTraces take only one stack trace', async () => {
  const tracesOf = async (work: () => Promise<unknown>) => {
    let traces = 0;
    const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
    Error.prepareStackTrace = ({ message }, sites) => {
      // Playwright sets this stack trace limit. It may also take other traces meanwhile.
      const isOfThisFile = sites.some((site) => site.getFileName()?.includes('driver.test') ?? false);
      if (Error.stackTraceLimit === 50 && isOfThisFile) traces += 1;
      return message;
    };
    await work();
    if (before) Object.defineProperty(Error, 'prepareStackTrace', before);
    else Reflect.deleteProperty(Error, 'prepareStackTrace');
    return traces;
  };
  const calls = async () => {
    for (let count = 0; count < 5; count += 1) await warm.page.title();
  };
  expect(await tracesOf(calls)).toBe(5);
  expect(await tracesOf(() => withoutCallTraces(warm.page, calls))).toBe(1);
});

test('withoutCallTraces passes errors through unchanged', async () => {
  const error = new Error('told to the client');
  await expect(withoutCallTraces(warm.page, () => Promise.reject(error))).rejects.toBe(error);
  expect(error.message).toBe('told to the client');
});

test('the installed Playwright has all private objects that the renderer uses', async () => {
  const { size } = connectionOf(launched)._sessions;
  await checkDriver(launched.browser, warm.page);
  expect(connectionOf(launched)._sessions.size).toBe(size);
});

test('concurrent messages are written in one call', async () => {
  const pipe = connectionOf(launched)._transport._pipeWrite;
  expect(new PipeThrottle(launched.browser).messages).toBe(0);
  let writes = 0;
  const writev = pipe._writev?.bind(pipe);
  pipe._writev = (chunks, done) => {
    writes += 1;
    writev?.(chunks, done);
  };
  await Promise.all(Array.from({ length: 5 }, () => warm.cdp.send('Page.getFrameTree')));
  expect(writes).toBe(1);
});

test('a picture and a PDF of several chunks of the pipe are decoded from the chunks', async () => {
  expect(new PipeThrottle(launched.browser).messages).toBe(0);
  const take = async () => warm.cdp.send('Page.captureScreenshot', { format: 'png' });
  const blank = await take();
  await warm.cdp.send('Runtime.evaluate', { expression: drawNoise });
  const noisy = await take();
  expect(noisy.data).toEqual(expect.any(Buffer));
  expect(fileOf(noisy).length).toBeGreaterThan(150_000);
  const sizeOf = async (shot: { readonly data: string }) => {
    const { info } = await sharp(fileOf(shot)).raw().toBuffer({ resolveWithObject: true });
    return [info.width, info.height];
  };
  expect(await sizeOf(noisy)).toEqual(await sizeOf(blank));
  const printed = await warm.cdp.send('Page.printToPDF', { printBackground: true });
  expect(printed.data).toEqual(expect.any(Buffer));
  expect(fileOf(printed).toString('latin1')).toMatch(/^%PDF-[^]*%%EOF\s*$/);
});

test('no session of Playwright listens to scripts, and no frame has a world of Playwright', async () => {
  expect(new PipeThrottle(launched.browser).messages).toBe(0);
  const { page, cdp } = await openWarmPage(launched, egress);
  await page.goto('about:blank');
  const valueOf = (expression: string) => evaluate(cdp, { expression });
  // For a session that listens, the error is formatted immediately.
  const logError = `globalThis.formatted = false; Error.prepareStackTrace = () => (formatted = true); console.debug(new Error());`;
  expect(await valueOf(`${logError} formatted`)).toBe(false);
  const logged: unknown[] = [];
  page.on('console', (message) => logged.push(message.text()));
  await valueOf(`new Promise((resolve) => (document.body.append(
    Object.assign(new Image(), { onerror: resolve, src: 'http://127.0.0.1:9/refused.png' }))))`);
  await page.goto('about:blank#logged');
  expect(logged).toEqual([]);
  await valueOf(`document.body.append(document.createElement('iframe'))`);

  const own = await attachSession(page);
  const names: string[] = [];
  own.on('Runtime.executionContextCreated', ({ context: { name } }) => names.push(name));
  await own.send('Runtime.enable');
  // The page and its frame.
  expect(names).toEqual(['', '']);
  expect(await valueOf(`${logError} formatted`)).toBe(true);
  await page.close();
});

test('the error of a failed command names it and has no stack trace; other errors keep theirs', async () => {
  expect(new PipeThrottle(launched.browser).messages).toBe(0);
  const sent = warm.cdp.send('Page.navigate', { url: 'no address' });
  expect(new Error('of our own').stack).toContain('driver.test.ts');
  const error = await sent.catch((failure: unknown) => failure as Error);
  expect(error).toMatchObject({
    message: expect.stringMatching(/Page\.navigate.*invalid URL/),
    stack: expect.anything(),
  });
  expect((error as Error).stack).not.toMatch(/\n {4}at /);
});

/** Launches a capture browser of which Playwright's browser object is replaced. */
async function launchWith(browser: object) {
  const close = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const source = {
    launch: async () => ({ ...launched, browser, close }),
    egress: { openSession: async () => ({ close: async () => undefined }) },
    guard: { watch: () => () => undefined },
    livenessTimeoutMs: 60_000,
  } as unknown as BrowserSource;
  return { launching: CaptureBrowser.launch(source, () => undefined), close };
}

test('a browser is closed again if a private object of it or of its page is missing', async () => {
  const ofBrowser = await launchWith({});
  await expect(ofBrowser.launching).rejects.toThrow('private object _wrapApiCall of the browser is missing');
  expect(ofBrowser.close).toHaveBeenCalledOnce();
  const context = Object.assign(new EventEmitter(), {
    newPage: async () => new EventEmitter(),
    close: async () => undefined,
  });
  const ofPage = await launchWith(Object.create(launched.browser, { newContext: { value: async () => context } }));
  await expect(ofPage.launching).rejects.toThrow('private object _wrapApiCall of the page is missing');
  expect(ofPage.close).toHaveBeenCalledOnce();
});
