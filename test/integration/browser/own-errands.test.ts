// @module-tag long
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright';
import { describe, expect, test } from 'vitest';
import { launchBrowser } from '../../../services/renderer/browser/launch.ts';
import { loadStealthProvider, stealthSwitches } from '../../../services/renderer/browser/stealth.ts';
import { headlessShellSwitches, withoutCommonSwitches } from '../../../services/renderer/browser/switches.ts';
import { connectivityChecks } from '../../../services/renderer/egress/serve.ts';
import { engineConfig } from '../../harness/engine.ts';
import { tlsFixture } from '../egress/tls-fixture.ts';

/** Calls every API for which a browser may send requests to its vendor. */
const calls = `
  const languages = { sourceLanguage: 'de', targetLanguage: 'en' };
  const total = { label: 'x', amount: { currency: 'USD', value: '1' } };
  const pays = (method) => new PaymentRequest([{ supportedMethods: method, data: {} }], { total });
  const publicKey = { challenge: new Uint8Array(32), rpId: location.hostname };
  const all = [
    () => navigator.geolocation.getCurrentPosition(() => 0),
    () => Notification.requestPermission(),
    () => new (window.webkitSpeechRecognition ?? Object)().start?.(),
    () => speechSynthesis.speak(new SpeechSynthesisUtterance('Hello')),
    () => Translator.create(languages),
    () => LanguageDetector.create(),
    () => LanguageModel.create(),
    () => Summarizer.create(),
    () => pays('https://secure.example/pay').canMakePayment(),
    () => pays('https://secure.example/pay').hasEnrolledInstrument(),
    () => navigator.requestMediaKeySystemAccess('com.widevine.alpha', [{ initDataTypes: ['cenc'], videoCapabilities: [{ contentType: 'video/mp4;codecs="avc1.42E01E"' }] }]),
    () => navigator.credentials.get({ publicKey }),
    () => navigator.credentials.get({ password: true }),
    () => new RTCPeerConnection({ iceServers: [{ urls: 'stun:stun.example' }] }).createOffer(),
    () => navigator.mediaDevices.enumerateDevices(),
    () => new PresentationRequest(['https://secure.example/cast']).getAvailability(),
    () => navigator.getInstalledRelatedApps(),
    () => navigator.serviceWorker.register('/worker.js').then((worker) => worker.pushManager.subscribe({ userVisibleOnly: true })),
    () => navigator.storage.persist(),
  ];
  const callAll = () => all.forEach((call) => { try { call()?.catch?.(() => 0); } catch {} });
  document.querySelector('button').onclick = callAll;
  callAll();`;

const form = (fields: string) => `<form method=post action=/sent>${fields}<button>Send</button></form>`;
const login = form('<input name=user value=u autocomplete=username><input type=password name=pw value=p>');
const russian = 'Это предложение написано по-русски. ';

/** Content that browsers examine: forms, passwords, searches, languages, downloads, manifests, certificates. */
const pages: Readonly<Record<string, readonly [type: string, body: string]>> = {
  'http://shop.example/checkout': [
    'text/html',
    form(
      '<input name=email autocomplete=email><input name=street><input name=zip><input name=cc autocomplete=cc-number>',
    ),
  ],
  'http://shop.example/login': ['text/html', login],
  'http://shop.example/register': [
    'text/html',
    form('<input name=user><input type=password autocomplete=new-password><input type=password name=again>'),
  ],
  'http://shop.example/sent': ['text/html', '<h1>Welcome</h1><video controls src=/film.mp4></video>'],
  'http://nachrichten.example/': [
    'text/html',
    `<html lang=de><p>${'Dieser Satz ist auf Deutsch geschrieben. '.repeat(50)}`,
  ],
  'http://novosti.example/': [
    'text/html',
    `<p>${russian.repeat(50)}<p>${'この文章は日本語で書かれています。'.repeat(50)}`,
  ],
  'http://search.example/': [
    'text/html',
    '<link rel=search type="application/opensearchdescription+xml" href=/open.xml><link rel=manifest href=/app.json><link rel=icon href=/icon.png><form action=/><input type=search name=q></form>',
  ],
  'http://search.example/app.json': ['application/json', '{"name":"app","start_url":"/","display":"standalone"}'],
  'http://search.example/open.xml': ['text/xml', '<OpenSearchDescription/>'],
  'http://files.example/setup.exe': ['application/octet-stream', 'MZ'],
  'http://files.example/paper.pdf': ['application/pdf', '%PDF-1.4\n%%EOF'],
  'http://links.example/': [
    'text/html',
    '<a ping=http://ping.example/ href=http://shop.example/login>1600 Amphitheatre Parkway, Mountain View</a><style>@font-face { font-family: a; src: url(/a.woff2) } p { font-family: a }</style><p>a 漢字 😀',
  ],
  'http://links.example/call': ['text/html', `<button>x</button><script>${calls}</script>`],
  'https://secure.example/install': [
    'text/html',
    `<button onclick="SpeechRecognition.install({ langs: ['en-US'], processLocally: true })">x</button>`,
  ],
  'https://secure.example/call': ['text/html', `<button>x</button><script>${calls}</script>`],
  'https://secure.example/login': ['text/html', login],
  'https://paypa1.example/login': ['text/html', `<title>PayPal: log in</title>${login}`],
};

const hostsOfPages = new Set(Object.keys(pages).map((address) => new URL(address).host));

/** Responds for every host, and records requested addresses: outside of the test pages, only the hosts of https. */
class RecordingProxy {
  readonly asked = new Set<string>();
  readonly #server: Server;
  readonly #tls = createTlsServer(tlsFixture, (request, response) => {
    this.#answer(`https://${request.headers.host}${request.url}`, response);
  });

  private constructor() {
    this.#server = createServer(({ url = '' }: IncomingMessage, response) => this.#answer(url, response));
    this.#server.on('connect', ({ url = '' }, socket) => {
      // The browser may disconnect at any time.
      socket.on('error', () => undefined);
      const [host = '', port] = url.split(':');
      if (hostsOfPages.has(host) && port === '443') {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        this.#tls.emit('connection', socket);
        return;
      }
      this.asked.add(`//${url}`);
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

  #answer(url: string, response: ServerResponse): void {
    this.asked.add(url);
    // With another response, the browser would open a page for the login to the network.
    if (connectivityChecks.has(url)) return void response.writeHead(204).end();
    const [type, body] = pages[url.split('?')[0] ?? ''] ?? ['text/plain', 'nothing'];
    response.writeHead(200, { 'content-type': type }).end(body);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The browser sends its own requests some seconds after a page was loaded. */
const watchedMs = Number(process.env.WEBCAPTURE_TEST_WATCH_MS ?? 4000);

/** Downloads and addresses with a wrong certificate load no page. */
const endings = /Download|ERR_ABORTED|ERR_CERT_|ERR_FAILED/;

async function visit(page: Page, address: string): Promise<void> {
  await page.goto(address).catch((error: Error) => expect(error.message).toMatch(endings));
  for (const input of await page.locator('input').all()) await input.fill('text').catch(() => undefined);
  const button = page.locator('button').first();
  // A click may allow more requests than a script.
  if ((await button.count()) > 0) await button.click({ timeout: 2000 }).catch(() => undefined);
}

const browsers = {
  'the headless shell': async () => ({
    executablePath: engineConfig.headlessShellPath,
    switches: headlessShellSwitches,
    withoutSwitches: withoutCommonSwitches,
    contextOptions: {},
  }),
  'full Chromium': async () => {
    const provider = await loadStealthProvider(undefined, engineConfig.chromiumPath);
    return {
      executablePath: provider.executablePath,
      switches: await stealthSwitches(provider),
      withoutSwitches: [...withoutCommonSwitches, ...provider.withoutSwitches],
      contextOptions: provider.contextOptions,
    };
  },
};

/** Visits all pages, first in a context that accepts every certificate, and then in one that accepts only valid ones, as captures do. */
async function visitAll(name: keyof typeof browsers, proxy: RecordingProxy, ofBrowser: RecordingProxy): Promise<void> {
  const { switches, contextOptions, ...launch } = await browsers[name]();
  const { browser, close } = await launchBrowser({
    ...launch,
    sandbox: 'off',
    // Chromium uses the last switch of a name. Without this one, requests outside of contexts would use an unreachable proxy.
    switches: [...switches, `--proxy-server=${ofBrowser.address}`],
  });
  try {
    for (const ignoreHTTPSErrors of [true, false]) {
      const options: BrowserContextOptions = { ...contextOptions, ignoreHTTPSErrors, acceptDownloads: false };
      const context = await browser.newContext({ ...options, proxy: { server: proxy.address } });
      const visits = Object.keys(pages).map(async (address) => visit(await context.newPage(), address));
      await Promise.all(visits);
      await delay(watchedMs);
      await context.close();
    }
  } finally {
    await close();
  }
}

describe.each(Object.keys(browsers) as (keyof typeof browsers)[])('%s', (name) => {
  test('sends no request to a server that its pages do not use', async () => {
    const [proxy, ofBrowser] = [await RecordingProxy.start(), await RecordingProxy.start()];
    try {
      await visitAll(name, proxy, ofBrowser);
    } finally {
      await Promise.all([proxy.close(), ofBrowser.close()]);
    }
    expect([...ofBrowser.asked]).toEqual([]);
    expect(proxy.asked).toContain('https://secure.example/call');
    const others = [...proxy.asked].filter((url) => !hostsOfPages.has(new URL(url, 'http://x').hostname));
    // The egress proxy of captures itself responds to these.
    expect(others.filter((url) => !connectivityChecks.has(url))).toEqual([]);
  });
});
