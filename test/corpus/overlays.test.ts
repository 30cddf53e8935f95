import { expect } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { html, listedHosts, type Handler } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';

const host = 'www.site.test';
const top = 100;
const red = '#ff0000';
const newsletters = { ...blockNothing, newsletters: true };
const chats = { ...blockNothing, chats: true };

/** A page of ten rows with overlays over it. */
const pageWith = (overlays: string, bodyStyle = '') =>
  html(
    `<h1 style="margin:0;height:${top}px">A page about something else than that, with enough text to be a page of its own, and with more text than
    the overlays in front of it have</h1>${rowsOf(10)}${overlays}`,
    `<style>body{margin:0;${bodyStyle}}</style>`,
  );

const fixed = `position:fixed;z-index:9;background:${red}`;
const modal = (content: string, attributes = '') =>
  `<div style="${fixed};z-index:8;inset:0;background:#0009"></div><div ${attributes} style="${fixed};inset:80px">${content}</div>`;
const form = '<p>Get 10% off your first order</p><input type="email" placeholder="Email"><button>Send</button>';

const isWhole: NonNullable<HardPage['check']> = (seen) => {
  seen.expectSize(640, top + 1000);
  seen.expectColumn(620, [row(0, top), row(1, top), row(3, top), row(9, top)]);
  seen.expectColumn(320, [row(0, top), row(1, top), row(3, top), row(9, top)]);
};

const hidden: readonly (readonly [name: string, overlays: string, bodyStyle?: string])[] = [
  ['an overlay by a class that sites use', modal('<p>Hello</p>', 'class="newsletter-popup"')],
  ['an overlay without names, by its form', modal(form), 'overflow:hidden'],
  [
    'a bar at the bottom',
    `<div style="${fixed};left:0;right:0;bottom:0;height:90px"><label>Subscribe to our updates <input name="EMAIL"></label></div>`,
  ],
  [
    'a modal dialog',
    `<dialog id="d" style="background:${red};width:500px;height:300px"><h2>Abonnieren Sie unseren Newsletter</h2><input type="email"></dialog><script>d.showModal()</script>`,
  ],
  [
    'a custom element with a shadow root',
    `<x-popup style="${fixed};inset:60px"></x-popup><script>
    document.querySelector('x-popup').attachShadow({mode: 'open'}).innerHTML = '<p>Join our mailing list</p><input type="email">'</script>`,
  ],
];

const kept: readonly (readonly [name: string, overlay: string])[] = [
  [
    'a form to log in',
    `<div style="${fixed};inset:80px"><p>Sign up or log in</p><input type="email"><input type="password"></div>`,
  ],
  ['a header with a form', `<header style="${fixed};inset:80px">Newsletter <input type="email"></header>`],
  [
    'a sticky box of the page',
    `<aside style="position:sticky;bottom:80px;height:300px;background:${red}">Newsletter <input type="email"></aside>`,
  ],
  ['an overlay without a field', `<div style="${fixed};inset:80px">Our newsletter has a new address</div>`],
];

/** If a page has almost no other text, its overlay counts as the content of the page and stays. */
const onlyOverlay: HardPage = {
  name: 'newsletters: a page that is only a form stays',
  host,
  site: { '/': html(`<div style="${fixed};inset:0">Subscribe to our newsletter <input type="email"></div>`) },
  options: { block: newsletters },
  check: (seen) => seen.expectColor(320, 300, red),
};

const widget: Handler = (_request, response) =>
  void response
    .writeHead(200, { 'content-type': 'text/javascript' })
    .end(
      `document.body.insertAdjacentHTML('beforeend', '<div style="${fixed};right:0;bottom:0;width:100px;height:100px"></div>')`,
    );

/** Two chat widgets: one of a listed host, and one that the site serves itself. */
const chatting: HardPage['site'] = {
  '/': (request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(
      pageWith(`<script src="http://${listedHosts.chat}:${request.socket.localPort}/l.js"></script>
        <div id="intercom-container"><div style="${fixed};left:0;bottom:0;width:100px;height:100px"></div></div>`),
    );
  },
  '/l.js': widget,
};

const pages: readonly HardPage[] = [
  ...hidden.map(([name, overlays, bodyStyle], index): HardPage => ({
    name: `newsletters: ${name} is hidden`,
    host,
    site: { '/': pageWith(overlays, bodyStyle) },
    options: { isFullPage: true, block: newsletters },
    formats: index === 1 ? ['png', 'pdf'] : ['png'],
    check: isWhole,
  })),
  ...kept.map(([name, overlay]): HardPage => ({
    name: `newsletters: ${name} stays`,
    host,
    site: { '/': pageWith(overlay) },
    options: { block: newsletters },
    formats: ['png'],
    check: (seen) => seen.expectColor(500, 300, red),
  })),
  onlyOverlay,
  {
    name: 'without the option an overlay of a newsletter stays',
    host,
    site: { '/': pageWith(modal(form)) },
    options: { block: { ...blockNothing, ads: true, cookieBanners: true, chats: true } },
    formats: ['png'],
    check: (seen) => seen.expectColor(500, 300, red),
  },
  {
    name: 'chats: chat widgets are not requested, or hidden',
    host,
    site: chatting,
    options: { block: chats },
    formats: ['png', 'pdf'],
    check: (seen) => {
      expect(seen.asked('/l.js')).toBe(0);
      expect(seen.report.blockedRequests).toBe(1);
      seen.expectColor(50, 430, row(3, top)[1]);
      seen.expectColor(620, 430, row(3, top)[1]);
    },
  },
  {
    name: 'without the option chat widgets stay',
    host,
    site: chatting,
    options: { block: { ...newsletters, ads: true, cookieBanners: true } },
    formats: ['png'],
    check: (seen) => {
      expect(seen.asked('/l.js')).toBe(1);
      seen.expectColor(50, 430, red);
      seen.expectColor(620, 430, red);
    },
  },
];

testCorpus(pages);
