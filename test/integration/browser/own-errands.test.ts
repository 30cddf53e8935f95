// @module-tag long
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  commonSwitches,
  headlessShellSwitches,
  withoutCommonSwitches,
} from '../../../services/renderer/browser/switches.ts';
import { launchBrowser } from '../../../services/renderer/browser/launch.ts';
import { engineConfig } from '../../harness/engine.ts';

/** What browsers look at closely: forms, passwords, searches, other languages, downloads, documents, manifests. */
const pages: Readonly<Record<string, readonly [type: string, body: string]>> = {
  'shop.example/checkout': [
    'text/html',
    '<form><input name=email autocomplete=email><input name=street><input name=zip><input name=cc-number autocomplete=cc-number></form>',
  ],
  'shop.example/login': [
    'text/html',
    '<form method=post action=/login><input name=user value=u><input type=password name=pw value=p></form>',
  ],
  'shop.example/register': [
    'text/html',
    '<form><input name=user><input type=password autocomplete=new-password></form>',
  ],
  'nachrichten.example/': ['text/html', `<html lang=de><p>${'Dieser Satz ist auf Deutsch geschrieben. '.repeat(50)}`],
  'search.example/': [
    'text/html',
    '<link rel=search type="application/opensearchdescription+xml" href=/open.xml><link rel=manifest href=/app.json><form action=/><input type=search name=q></form>',
  ],
  'search.example/app.json': ['application/json', '{"name":"app","start_url":"/","display":"standalone"}'],
  'search.example/open.xml': ['text/xml', '<OpenSearchDescription/>'],
  'files.example/setup.exe': ['application/octet-stream', 'MZ'],
  'files.example/paper.pdf': ['application/pdf', '%PDF-1.4\n%%EOF'],
  'links.example/': [
    'text/html',
    '<a ping=http://ping.example/ href=http://shop.example/login>x</a><script>navigator.geolocation.getCurrentPosition(() => 0); Notification.requestPermission(); new (window.webkitSpeechRecognition ?? Object)().start?.()</script>',
  ],
};

/** Answers for every host, and keeps their names. */
class RecordingProxy {
  readonly hosts = new Set<string>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on('connect', ({ url = '' }, socket) => {
      this.hosts.add(url.replace(/:\d+$/, ''));
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
  }

  static async start(): Promise<RecordingProxy> {
    const proxy = new RecordingProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const { host, pathname } = new URL(url);
    this.hosts.add(host);
    const [type, body] = pages[`${host}${pathname}`] ?? ['text/plain', 'nothing'];
    response.writeHead(200, { 'content-type': type }).end(body);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let proxy: RecordingProxy;
beforeAll(async () => void (proxy = await RecordingProxy.start()));
afterAll(() => proxy.close());

/** The browser asks some seconds after a page was loaded. */
const watchedMs = Number(process.env.WEBCAPTURE_TEST_WATCH_MS ?? 4000);

async function visit(page: Page, address: string): Promise<void> {
  await page.goto(`http://${address}`).catch((error: Error) => expect(error.message).toMatch(/Download|ERR_ABORTED/));
  for (const input of await page.locator('input').all()) await input.fill('text').catch(() => undefined);
}

describe.each([
  ['the headless shell', engineConfig.headlessShellPath, headlessShellSwitches],
  ['full Chromium', engineConfig.chromiumPath, commonSwitches],
] as const)('%s', (_, executablePath, switches) => {
  test('asks no host that its pages do not ask', async () => {
    proxy.hosts.clear();
    // What it asks outside of contexts goes to a proxy that leads nowhere.
    const { browser, close } = await launchBrowser({
      executablePath,
      sandbox: 'off',
      switches,
      withoutSwitches: withoutCommonSwitches,
    });
    try {
      const context = await browser.newContext({ proxy: { server: proxy.address } });
      const visits = Object.keys(pages).map(async (address) => {
        const page = await context.newPage();
        await visit(page, address);
      });
      await Promise.all(visits);
      await delay(watchedMs);
    } finally {
      await close();
    }
    expect(proxy.hosts).toEqual(new Set(Object.keys(pages).map((address) => address.split('/')[0])));
  });
});
