import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, held, hold, marked } from './answers.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';

const red = '<style>html { background: #ff0000 }</style>';
const green = `html { background: ${marked('#00aa00')} }`;
const paintGreen = `document.documentElement.style.background = '${marked('#00aa00')}'`;

const strict = (body: string) =>
  answer('text/html', html(body, red).replace('<style>html,body{margin:0}</style>', ''), {
    headers: { 'content-security-policy': "default-src 'none'; require-trusted-types-for 'script'" },
  });

const isGreen = (seen: Seen): void => {
  seen.expectColor(300, 300, '#00aa00');
  expect(seen.report.softTimeouts).toEqual([]);
  expect(seen.report).not.toHaveProperty('scriptError');
};

const fails = (name: string, script: string, error: RegExp): HardPage => ({
  name: `script: ${name} is reported, and the capture continues`,
  site: { '/': html(`<style>${green}</style>`) },
  secrets: { script },
  formats: ['png'],
  check: (seen) => {
    seen.expectColor(300, 300, '#00aa00');
    expect(seen.report.scriptError).toMatch(error);
    expect(seen.report.softTimeouts).toEqual([]);
  },
});

/** A script of a page. It removes every style sheet that it finds, and turns the page red if a sheet does not belong to the page. */
const thief = `<script>
  const look = () => {
    if (document.adoptedStyleSheets.length > 0 || document.querySelectorAll('style').length > 1 || document.styleSheets.length > 1) {
      document.documentElement.style.background = '#ff0000';
    }
    document.adoptedStyleSheets = [];
  };
  setInterval(look, 5);
  addEventListener('load', look);
</script>`;

testCorpus([
  {
    name: 'css: affects the layout and the height of the page',
    site: { '/': html('<p>text', red) },
    options: { isFullPage: true },
    secrets: { css: `${green} body { height: 3000px } p { display: none }` },
    formats: ['png', 'pdf'],
    check: (seen) => {
      seen.expectSize(640, 3000);
      seen.expectColor(300, 2500, '#00aa00');
    },
  },
  {
    name: 'css: on a page that removes all style sheets, and rewrites its document',
    isLong: true,
    site: {
      '/': html(
        `<script>addEventListener('load', () => { document.open(); document.write(\`${html('<p>text', `${red}${thief}`).replaceAll('</script>', '<\\/script>').replace('<style>html,body{margin:0}</style>', '')}\`); document.close(); })</script>`,
      ),
    },
    secrets: { css: green },
    formats: ['png'],
    check: isGreen,
  },
  ...[{}, { javaScript: false }, { antiBot: true }].map((options): HardPage => ({
    name: `css: under a strict content security policy, with ${JSON.stringify(options)}`,
    site: { '/': strict('<p>text') },
    options,
    secrets: { css: green },
    formats: ['png'],
    check: isGreen,
  })),
  {
    name: 'css: applies before the page has loaded',
    site: {
      ...held(),
      '/': html(`<p>text</p>${hold}<script>
        const look = () => getComputedStyle(document.querySelector('p')).display === 'none' ? fetch('/release') : setTimeout(look, 5);
        look();
      </script>`),
    },
    secrets: { css: `${green} p { display: none }` },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'css: applies to pages after redirects, scripts and clicks',
    site: {
      '/': html('<script>location.replace("/link")</script>'),
      '/link': html('<a href="/end">go</a>', red),
      '/end': html('<p>text', red),
    },
    options: { click: ['a'] },
    secrets: { css: green },
    formats: ['png'],
    check: (seen) => {
      isGreen(seen);
      expect(new URL(seen.report.finalUrl).pathname).toBe('/end');
    },
  },
  {
    name: 'script: is awaited, and runs once in the page, before click and waitFor',
    site: { '/': html(`<script>let times = 0; const paint = () => { if (times === 1) ${paintGreen} }</script>`, red) },
    options: {
      click: ['button'],
      waitFor: { selector: 'button', state: 'visible', timeout: 0, required: true },
    },
    secrets: {
      script: `await new Promise((resolve) => setTimeout(resolve, 300));
        times += 1;
        document.body.innerHTML = '<button>go</button>';
        document.querySelector('button').onclick = paint;
        return document.body; // the end`,
    },
    formats: ['png'],
    check: isGreen,
  },
  ...[{}, { antiBot: true }].map((options): HardPage => ({
    name: `script: under a strict content security policy, with ${JSON.stringify(options)}`,
    site: { '/': strict('<p>text') },
    options,
    secrets: { script: `await null; ${paintGreen}` },
    formats: ['png'],
    check: isGreen,
  })),
  {
    name: 'script: on a page that has replaced the functions that run scripts',
    isLong: true,
    site: {
      '/': html(
        `<script>Promise.prototype.then = () => 0; Promise = class {}; Function.prototype.call = null; eval = null; Function = null;
         Object.defineProperty(Object.prototype, 'get', { value: 1 }); Array.prototype.map = null; console.log = null</script>`,
        red,
      ),
    },
    secrets: { script: `await null; ${paintGreen}` },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'script: functions of the page cannot read its source',
    isLong: true,
    site: {
      '/': html(
        `<title>page</title><script>
           document.querySelector = function spy() {
             let seen = '';
             try { seen += spy.caller } catch {}
             Error.prepareStackTrace = (_, frames) => frames.map((frame) => String(frame.getFunction())).join();
             seen += new Error().stack;
             document.title = seen.includes(['hun', 'ter2'].join('')) ? 'seen' : 'unseen';
           };
         </script>`,
      ),
    },
    secrets: { script: `const password = 'hunter2';\ndocument.querySelector('p');` },
    formats: ['png'],
    check: (seen) => expect(seen.report.title).toBe('unseen'),
  },
  {
    name: 'script: a navigation that it starts is followed before other waits',
    site: {
      '/': html('', red),
      '/next': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        setTimeout(() => response.end(html(`<style>${green}</style><p id="next">text`)), 500);
      },
    },
    options: { waitFor: { selector: '#next', state: 'visible', timeout: 0, required: true } },
    secrets: { script: `location.href = '/next';` },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'script: navigates away from its page, which ends it',
    site: { '/': html('', red), '/next': html(`<style>${green}</style>`) },
    secrets: { script: `location.href = '/next'; await new Promise(() => {});` },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'script: to an address that the egress policy refuses',
    site: { '/': html('') },
    secrets: { script: `location.href = 'http://10.1.2.3/';` },
    formats: ['png'],
    fails: { code: 'URL_BLOCKED' },
  },
  fails('an error', 'throw new Error("boom");', /^Error: boom \(line 1\)$/),
  fails('an error of the browser', '\n\nmissing();', /^ReferenceError: missing is not defined \(line 3\)$/),
  fails('a rejection with a long text', 'await Promise.reject("x".repeat(10_000));', /^x{500}$/),
  fails('a syntax error', 'const a = 1;\nlet b = ;', /^SyntaxError: Unexpected token ';' \(line 2\)$/),
  { ...fails('an endless loop', 'await null; for (;;);', /^The script timed out after 5 s\.$/), isLong: true },
  fails('a promise that never settles', 'await new Promise(() => {});', /^The script timed out after 5 s\.$/),
]);
