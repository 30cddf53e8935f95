import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerRequests } from './answer-requests.ts';
import { benchQuality, benchViewport } from './contender.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A connection through pipes, in which a zero byte ends each message. */
class Connection {
  readonly #to: Writable;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #events = new Map<string, () => void>();
  #unread: Buffer[] = [];
  #last = 0;

  constructor(to: Writable, from: Readable) {
    this.#to = to;
    from.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  send<T>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#to.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answer.promise as Promise<T>;
  }

  /** Resolves at the next event of this kind. */
  event(method: string, sessionId: string): Promise<void> {
    return new Promise((resolve) => this.#events.set(`${method} ${sessionId}`, resolve));
  }

  #read(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0;) {
      const end = rest.indexOf(0);
      this.#unread.push(end === -1 ? rest : rest.subarray(0, end));
      if (end === -1) return;
      this.#take(JSON.parse(Buffer.concat(this.#unread).toString()) as Message);
      this.#unread = [];
      rest = rest.subarray(end + 1);
    }
  }

  #take({ id, method, sessionId, result, error }: Message): void {
    if (id === undefined) {
      const name = `${method} ${sessionId}`;
      this.#events.get(name)?.();
      this.#events.delete(name);
      return;
    }
    const answer = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) answer?.resolve(result);
    else answer?.reject(new Error(error.message));
  }
}

const [, , executablePath = ''] = process.argv;
const profile = await mkdtemp(join(tmpdir(), 'webcapture-protocol-'));
const browser = spawn(
  executablePath,
  [
    '--remote-debugging-pipe',
    `--user-data-dir=${profile}`,
    `--window-size=${benchViewport.width},${benchViewport.height}`,
    // The flags that Playwright sets.
    '--no-sandbox',
    '--hide-scrollbars',
    '--mute-audio',
    '--force-color-profile=srgb',
    '--font-render-hinting=none',
    '--disable-background-networking',
    '--disable-background-timer-throttling',
    '--disable-backgrounding-occluded-windows',
    '--disable-renderer-backgrounding',
    '--disable-breakpad',
    '--disable-component-update',
    '--disable-dev-shm-usage',
    'about:blank',
  ],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
);
const connection = new Connection(browser.stdio[3] as Writable, browser.stdio[4] as Readable);

type Send = <T>(method: string, params?: object) => Promise<T>;

/** A page in a new browser context. */
interface FreshPage {
  readonly browserContextId: string;
  readonly frameId: string;
  readonly send: Send;
  /** Resolves when the document that the action opens has loaded. */
  readonly loaded: (action: () => Promise<unknown>) => Promise<void>;
}

async function open(): Promise<FreshPage> {
  const { browserContextId } = await connection.send<{ browserContextId: string }>('Target.createBrowserContext');
  const target = { url: 'about:blank', browserContextId, ...benchViewport };
  const { targetId } = await connection.send<{ targetId: string }>('Target.createTarget', target);
  const attach = { targetId, flatten: true };
  const { sessionId } = await connection.send<{ sessionId: string }>('Target.attachToTarget', attach);
  const send: Send = (method, params = {}) => connection.send(method, params, sessionId);
  await send('Page.enable');
  const loaded = async (action: () => Promise<unknown>) => {
    const event = connection.event('Page.loadEventFired', sessionId);
    await action();
    await event;
  };
  // The id of a page target is also the id of its main frame.
  return { browserContextId, frameId: targetId, send, loaded };
}

/** Pages in which HTML was captured, for reuse. */
const used: FreshPage[] = [];

answerRequests(
  async ({ url, html, format, page: { isFullPage } }) => {
    const page = (html === undefined ? undefined : used.pop()) ?? (await open());
    const { browserContextId, frameId, send, loaded } = page;
    try {
      if (html === undefined) await loaded(() => send('Page.navigate', { url }));
      else await loaded(() => send('Page.setDocumentContent', { frameId, html }));
      const { data } = await take(send, format, isFullPage);
      return Buffer.from(data, 'base64');
    } finally {
      // The following is not part of the measured time, as in the minimal script.
      if (html === undefined) void connection.send('Target.disposeBrowserContext', { browserContextId });
      else void loaded(() => send('Page.navigate', { url: 'about:blank' })).then(() => used.push(page));
    }
  },
  async () => {
    const exit = once(browser, 'exit');
    browser.kill();
    await exit;
    await rm(profile, { recursive: true, force: true });
  },
);

async function take(send: Send, format: 'png' | 'jpeg' | 'pdf', isFullPage: boolean): Promise<{ data: string }> {
  if (format === 'pdf')
    return send('Page.printToPDF', {
      printBackground: true,
      generateTaggedPDF: false,
      paperWidth: 8.27,
      paperHeight: 11.7,
    });
  const how = format === 'png' ? { format, optimizeForSpeed: true } : { format, quality: benchQuality };
  const shoot = async () => {
    if (!isFullPage) return send<{ data: string }>('Page.captureScreenshot', how);
    const { cssContentSize } = await send<{ cssContentSize: object }>('Page.getLayoutMetrics');
    const whole = { captureBeyondViewport: true, clip: { ...cssContentSize, scale: 1 } };
    return send<{ data: string }>('Page.captureScreenshot', { ...how, ...whole });
  };
  // For some milliseconds after a navigation there may be no surface.
  return shoot().catch(() => sleep(30).then(shoot));
}
