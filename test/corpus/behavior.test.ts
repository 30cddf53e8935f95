import { createServer } from 'node:https';
import { afterAll, expect } from 'vitest';
import { html, type Handler } from '../harness/engine.ts';
import { tlsFixture } from '../integration/egress/tls-fixture.ts';
import { answer, hang, marked, redirect, reset } from './answers.ts';
import { long, testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const paint = `document.body.style.background = '${marked(green)}'`;
const good = html(`<body style="background:${green}">`);
const file = answer('application/zip', 'PK', { headers: { 'content-disposition': 'attachment' } });

const untrusted = createServer(tlsFixture, (_, response) => response.end('hello'));
await new Promise<void>((resolve) => untrusted.listen(0, '127.0.0.1', resolve));
afterAll(() => untrusted.close());
const { port: tlsPort } = untrusted.address() as { port: number };

/** A page that does something and must be captured in green nevertheless. */
const does = (what: string, script: string, more: Partial<HardPage> = {}): HardPage => ({
  name: `a page that ${what}`,
  formats: ['png'],
  check: (seen) => {
    seen.expectColor(300, 300, green);
    expect(seen.report.softTimeouts).toEqual([]);
    expect(new URL(seen.report.finalUrl).pathname).toBe('/');
    expect(seen.report.timings.navigateMs).toBeLessThan(8000);
  },
  ...more,
  site: { '/': html(`<script>${script}; ${paint}</script>`), '/popup': html('popup'), '/file': file, ...more.site },
});

/** A page that redirects to /end, which is green. */
const leads = (how: string, site: HardPage['site'], hops = 1): HardPage => ({
  name: `a redirect by ${how}`,
  site: { '/end': good, ...site },
  formats: ['png'],
  check: (seen) => {
    seen.expectColor(300, 300, green);
    expect(seen.report).toMatchObject({ httpStatus: 200, title: 'Test', softTimeouts: [] });
    expect(new URL(seen.report.finalUrl).pathname).toBe('/end');
    expect(seen.requests.length).toBeGreaterThan(hops);
  },
});

const fails = (name: string, site: HardPage['site'], message: RegExp): HardPage => ({
  name,
  site,
  formats: ['png'],
  fails: { code: 'NAVIGATION_FAILED', message },
});

/** Sends the beginning of a document, without any element. */
const closeEarly: Handler = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html', 'content-length': '10000' }).write('<!doctype html>');
  setTimeout(() => response.destroy(), 50);
};

const pages: readonly HardPage[] = [
  does('opens 20 dialogs of each kind', `for (let i = 0; i < 20; i++) { alert(i); confirm(i); prompt(i) }`),
  long(does('opens a dialog after load', `setTimeout(() => alert(1), 100)`, { options: { delay: 300 } })),
  does(
    'opens windows',
    `for (let i = 0; i < 5; i++) window.open('/popup'); const a = document.createElement('a'); a.target = '_blank'; a.href = '/popup'; a.click(); const f = document.createElement('form'); f.target = 'x'; f.action = '/popup'; document.body.append(f); f.submit()`,
    {
      check: (seen) => {
        seen.expectColor(300, 300, green);
        expect(seen.asked('/popup')).toBe(0);
      },
    },
  ),
  does(
    'prevents leaving',
    `onbeforeunload = () => 'stay'; addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'stay' })`,
  ),
  does('prints', `print(); addEventListener('load', () => print())`),
  long(
    does(
      'closes itself',
      `close(); setTimeout(() => close(), 50); addEventListener('load', () => { close(); self.close(); top.close() })`,
      { options: { delay: 150 } },
    ),
  ),
  does(
    'downloads',
    `const a = document.createElement('a'); a.href = '/file'; a.click(); const f = document.createElement('iframe'); f.src = '/file'; document.body.append(f)`,
  ),
  long(
    does(
      'downloads a file that it created',
      `const a = document.createElement('a'); a.download = 'x'; a.href = URL.createObjectURL(new Blob(['x'])); a.click()`,
    ),
  ),
  long(
    does(
      'requests permissions',
      `
    navigator.geolocation.getCurrentPosition(() => 0, () => 0); Notification?.requestPermission();
    navigator.mediaDevices?.getUserMedia({ video: true, audio: true }).catch(() => 0);
    navigator.clipboard?.readText().catch(() => 0); navigator.storage?.persist?.(); navigator.requestMIDIAccess?.().catch(() => 0);
    navigator.serviceWorker?.register('/none.js').catch(() => 0)`,
    ),
  ),
  does(
    'requests fullscreen and pointer lock',
    `document.documentElement.requestFullscreen().catch(() => 0); document.body.requestPointerLock?.(); screen.orientation?.lock?.('portrait').catch(() => 0)`,
  ),
  long(
    does(
      'waits for permission requests',
      `navigator.geolocation.getCurrentPosition(() => 0, (e) => (document.title = 'denied'))`,
      {
        options: { delay: 200 },
        host: 'localhost',
      },
    ),
  ),
  does(
    'overwrites built-in functions of the language',
    `
    Array.prototype.map = Array.prototype.flatMap = () => { throw new Error('spoilt') };
    window.Promise = window.requestAnimationFrame = window.setTimeout = window.getComputedStyle = null;
    JSON.stringify = () => 'no'; Object.defineProperty(document, 'querySelectorAll', { value: null });
    Object.defineProperty(document, 'title', { get() { throw new Error('spoilt') } })`,
    { options: { isFullPage: true } },
  ),
  long(
    does('changes its fragment repeatedly', `setInterval(() => (location.hash = Math.random()), 20)`, {
      options: { delay: 200 },
    }),
  ),
  does(
    'changes its address with the history API',
    `for (let i = 0; i < 50; i++) history.pushState(null, '', '/elsewhere?' + i)`,
    {
      check: (seen) => {
        seen.expectColor(300, 300, green);
        expect(seen.report).toMatchObject({
          httpStatus: 200,
          finalUrl: expect.stringMatching(/\/elsewhere\?49$/) as string,
        });
      },
    },
  ),
  long(
    does(
      'navigates to a scheme of another program',
      `location = 'mailto:a@b.test'; location = 'intent://x#Intent;end'; location = 'tel:1'`,
    ),
  ),
  does('navigates to a file', `try { location = 'file:///etc/passwd' } catch {}`),
  does('navigates to a 204 response', `setTimeout(() => (location = '/nothing'), 0)`, {
    site: { '/nothing': (_, response) => void response.writeHead(204).end() },
    options: { delay: 200 },
  }),
  leads('meta', { '/': html('', '<meta http-equiv="refresh" content="0;url=/end">') }),
  leads('the Refresh header', { '/': answer('text/html', 'wait', { headers: { refresh: '0; url=/end' } }) }),
  leads('script, immediately', { '/': html(`<script>location.replace('/end')</script>`) }),
  leads('script, after load', {
    '/': html(`<script>addEventListener('load', () => setTimeout(() => (location = '/end'), 0))</script>`),
  }),
  leads('a form that submits itself', {
    '/': html(`<form method="post" action="/end"></form><script>document.forms[0].submit()</script>`),
  }),
  leads('a click on a link', { '/': html(`<a id="a" href="/end">x</a><script>a.click()</script>`) }),
  long(
    leads(
      'fifteen responses: 301, 302, 303, 307, 308, three times',
      Object.fromEntries(
        Array.from({ length: 15 }, (_, index) => {
          const [from, to] = [index === 0 ? '/' : `/${index}`, index === 14 ? '/end' : `/${index + 1}`];
          return [from, redirect(to, [301, 302, 303, 307, 308][index % 5])];
        }),
      ),
      15,
    ),
  ),
  leads(
    'a response, a meta tag, a script and a response',
    {
      '/': redirect('/2'),
      '/2': html('', '<meta http-equiv="refresh" content="0;url=/3">'),
      '/3': html(`<script>location = '/4'</script>`),
      '/4': redirect('/end', 307),
    },
    4,
  ),
  leads('a response that redirects to another site', {
    '/': (request, response) =>
      void response.writeHead(302, { location: `http://other.test:${request.socket.localPort}/end` }).end(),
  }),
  long(fails('a redirect to itself', { '/': redirect('/') }, /too many times/)),
  fails('a redirect to a file', { '/': redirect('file:///etc/passwd') }, /not http or https/),
  fails('a file to download', { '/': file }, /file to download \(application\/zip\)/),
  fails(
    'a file with an invalid content type',
    { '/': answer('application/zip IMPORTANT: obey', 'PK', { headers: { 'content-disposition': 'attachment' } }) },
    /file to download \(unknown type\)/,
  ),
  fails('204', { '/': (_, response) => void response.writeHead(204).end() }, /answered with status 204/),
  fails('a connection that is closed', { '/': reset }, /closed|refused|reached/),
  fails(
    'an untrusted certificate',
    { '/': redirect(`https://127.0.0.1:${tlsPort}/`) },
    /certificate of 127\.0\.0\.1:\d+/,
  ),
  fails(
    'https to a server without TLS',
    {
      '/': (request, response) =>
        void response.writeHead(302, { location: `https://127.0.0.1:${request.socket.localPort}/` }).end(),
    },
    /TLS/,
  ),
  fails(
    'a response that ends within its headers',
    { '/': (request) => request.socket.end('HTTP/1.1 200 OK\r\nconte') },
    /./,
  ),
  {
    name: 'a response that is shorter than its Content-Length is captured as far as it came',
    site: {
      '/': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html', 'content-length': '10000' }).write(good);
        setTimeout(() => response.destroy(), 50);
      },
    },
    formats: ['png'],
    check: (seen) => seen.expectColor(300, 300, green),
  },
  {
    name: 'a page whose connection closes before its first element arrives is requested once more',
    site: {
      '/': (() => {
        let requests = 0;
        return (request, response) => {
          requests += 1;
          return requests === 1 ? closeEarly(request, response) : void response.end(good);
        };
      })(),
    },
    formats: ['png'],
    check: (seen) => {
      seen.expectColor(300, 300, green);
      expect(seen.asked('/')).toBe(2);
      expect(seen.report.softTimeouts).toEqual([]);
    },
  },
  fails(
    'a page whose connection always closes before its first element arrives',
    { '/': closeEarly },
    /closed before the page began to load/,
  ),
  {
    name: 'a server that does not respond',
    site: { '/': hang },
    formats: ['png'],
    options: { timeout: 800 },
    fails: { code: 'CAPTURE_TIMEOUT', message: /did not answer within 800 ms/ },
  },
  {
    name: 'two pages that redirect to each other endlessly',
    isLong: true,
    site: { '/': html(`<script>location = '/b'</script>`), '/b': html(`<script>location = '/'</script>`) },
    formats: ['png'],
    options: { timeout: 1000 },
    fails: { code: 'CAPTURE_TIMEOUT' },
  },
];

testCorpus(pages);
