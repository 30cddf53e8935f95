import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { type Handler, html } from '../harness/engine.ts';
import { type HardPage, testCorpus, type Seen } from './corpus.ts';

const isGreen = (seen: Seen): void => {
  seen.expectColor(300, 300, '#00aa00');
  expect(seen.report.softTimeouts).toEqual([]);
};
const atPath = (path: string) => (seen: Seen) => {
  isGreen(seen);
  expect(new URL(seen.report.finalUrl).pathname).toBe(path);
};

const green = `document.documentElement.style.background = '#00aa00'`;
const greenPage = html('<style>html { background: #00aa00 }</style>');

/** Redirects a correct login to /account, and shows the account to a browser with its cookie. */
const login: Readonly<Record<string, string | Handler>> = {
  '/': html(
    `<form method="post" action="/login"><input id="user" name="user" value="somebody"><input id="password" name="password" type="password">
     <textarea name="note"></textarea><button>Sign in</button></form>`,
  ),
  '/login': (request, response) => {
    void text(request).then((body) => {
      const isRight = body === 'user=ann+b&password=hunter2%26%C3%BC&note=1%0D%0A2';
      response.writeHead(302, isRight ? { location: '/account', 'set-cookie': 'sid=1; HttpOnly' } : { location: '/' });
      response.end();
    });
  },
  '/account': (request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(request.headers.cookie === 'sid=1' ? greenPage : html('<p>sign in'));
  },
};

const png = { formats: ['png' as const] };

const pages: readonly HardPage[] = [
  ...[
    {},
    { javaScript: false },
    { antiBot: true },
    { isMobile: true as const, screen: { width: 640, height: 480 } },
  ].map((options): HardPage => ({
    ...png,
    name: `steps: log in by a form, and show the account, with ${JSON.stringify(options)}`,
    site: login,
    options: {
      ...options,
      steps: [
        { type: { selector: '#user' } },
        { type: { selector: 'textarea' } },
        { type: { selector: '#password' } },
        { press: { selector: '#password', key: 'Enter' } },
        { waitFor: 'html' },
      ],
    },
    secrets: { stepValues: ['ann b', '1\n2', 'hunter2&ü'] },
    check: atPath('/account'),
  })),
  {
    ...png,
    name: 'steps: in shadow roots and frames of the same origin',
    site: {
      '/': html(
        `<x-form></x-form><iframe src="/frame" style="margin-top: 600px"></iframe><script>
          const shown = {};
          function note(name, value) { shown[name] = value; if (shown.a === 'one' && shown.b === 'two') ${green}; }
          const root = document.querySelector('x-form').attachShadow({ mode: 'open' });
          root.innerHTML = '<input>';
          root.firstChild.addEventListener('input', (event) => { if (event.isTrusted) note('a', event.target.value); });
        </script>`,
      ),
      '/frame': html(
        `<div contenteditable>former <b>text</b></div><script>
          const [field] = document.getElementsByTagName('div');
          field.addEventListener('input', () => parent.note('b', field.textContent));
        </script>`,
      ),
    },
    options: {
      steps: [
        { type: { selector: 'x-form > input' } },
        { type: { selector: 'iframe >> div' } },
        { scroll: { to: 'top' } },
      ],
    },
    secrets: { stepValues: ['one', 'two'] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: a text replaces the content of a field, and empty and formatted fields get theirs',
    site: {
      '/': html(
        `<input id="kept" value="former"><input id="emptied" value="former"><input id="day" type="date"><input id="number" type="number"><script>
          addEventListener('input', () => {
            const values = [...document.querySelectorAll('input')].map(({ value }) => value);
            if (values.join() === 'new,,2026-11-28,12.5') ${green};
          });
        </script>`,
      ),
    },
    options: { steps: ['#kept', '#emptied', '#day', '#number'].map((selector) => ({ type: { selector } })) },
    secrets: { stepValues: ['new', '', '2026-11-28', '12.5'] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: an option by its value, and one that comes later by its label',
    site: {
      '/': html(
        `<select id="a"><option>x<option value="DE">Germany</select><select id="b"></select><script>
          a.addEventListener('change', () => setTimeout(() => b.append(new Option('Berlin', '7')), 300));
          b.addEventListener('change', () => { if (a.value === 'DE' && b.value === '7') ${green}; });
        </script>`,
      ),
    },
    options: { steps: [{ select: { selector: '#a' } }, { select: { selector: '#b' } }] },
    secrets: { stepValues: ['DE', 'Berlin'] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: a menu that opens under the pointer, and its item',
    site: {
      '/': html(
        `<style>nav ul { display: none } nav:hover ul { display: block } nav { width: 200px }</style>
         <nav>menu<ul><li><button onclick="if (event.isTrusted) ${green}">item</button></ul></nav>`,
      ),
    },
    options: { steps: [{ hover: 'nav' }, { click: 'nav button' }] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: the picture shows the menu under the pointer',
    site: {
      '/': html(
        `<style>nav div { display: none; height: 480px; background: #00aa00 } nav:hover div { display: block }</style><nav>menu<div></div></nav>`,
      ),
    },
    options: { steps: [{ hover: 'nav' }] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: scrolling loads more, and the picture shows where it ended',
    site: {
      '/': html(
        `<main><div style="height: 1500px"></div></main><script>
          let more = 0;
          addEventListener('scroll', () => {
            if (more === 2 || scrollY + innerHeight < document.documentElement.scrollHeight - 5) return;
            more += 1;
            setTimeout(() => {
              document.querySelector('main').insertAdjacentHTML('beforeend', '<div class="more" style="height: 1500px; background: #00aa00"></div>');
            }, 200);
          });
        </script>`,
      ),
    },
    options: {
      steps: [
        { scroll: { to: 'bottom' } },
        { waitFor: '.more' },
        { scroll: { by: -10 } },
        { scroll: { to: 'bottom' } },
        { waitFor: { selector: '.more + .more', state: 'attached' } },
        { scroll: { selector: '.more + .more' } },
      ],
    },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: the content of an element is scrolled',
    site: {
      '/': html(
        `<div id="list" style="height: 480px; overflow: auto"><div style="height: 2000px"></div><div style="height: 480px; background: #00aa00"></div></div>`,
      ),
    },
    options: { steps: [{ scroll: { selector: '#list', to: 'bottom' } }] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: wait until an element has gone, and for a time',
    site: {
      '/': html(
        `<p id="spinner">Loading<script>setTimeout(() => { spinner.remove(); setTimeout(() => ${green}, 200) }, 1200)</script>`,
      ),
    },
    options: { steps: [{ waitFor: { selector: '#spinner', state: 'hidden' } }, { wait: 300 }] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: a link to another host of the site, which redirects, is followed',
    host: 'www.shop.test',
    site: {
      '/': (request, response) => {
        const port = request.headers.host?.split(':')[1] ?? '';
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end(html(`<a href="http://account.shop.test:${port}/moved">go</a>`));
      },
      '/moved': (_request, response) => response.writeHead(302, { location: '/end' }).end(),
      '/end': greenPage,
    },
    options: { steps: [{ click: 'a' }, { waitFor: 'html' }] },
    check: (seen) => {
      isGreen(seen);
      expect(new URL(seen.report.finalUrl)).toMatchObject({ hostname: 'account.shop.test', pathname: '/end' });
    },
  },
  {
    ...png,
    name: 'steps: a page that takes the focus for itself gets no text elsewhere',
    site: {
      '/': html(
        `<input id="a"><input id="b"><script>
          a.addEventListener('focus', () => b.focus(), { once: true });
          addEventListener('input', () => { if (a.value === 'hunter2' && b.value === '') ${green} });
        </script>`,
      ),
    },
    options: { steps: [{ type: { selector: '#a' } }] },
    secrets: { stepValues: ['hunter2'] },
    check: isGreen,
  },
  {
    ...png,
    name: 'steps: a value that the page puts into its address and title is not reported',
    site: {
      '/': html('<form action="/end"><input name="q"></form>'),
      '/end': html('<style>html { background: #00aa00 }</style><script>document.title = location.href</script>'),
    },
    options: { steps: [{ type: { selector: 'input' } }, { press: { key: 'Enter' } }] },
    secrets: { stepValues: ['hunter2 & more'] },
    check: (seen) => {
      isGreen(seen);
      expect(seen.requests).toContain('/end?q=hunter2+%26+more');
      expect(seen.report.finalUrl).toMatch(/\/end\?q=\[redacted\]$/);
      expect(seen.report.title).toMatch(/\/end\?q=\[redacted\]$/);
    },
  },
];

testCorpus(pages);
