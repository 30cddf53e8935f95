import { expect } from 'vitest';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { html, type Handler } from '../harness/engine.ts';
import { consentDialogs } from './consent-dialogs.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';

const bar =
  'style="position:fixed;z-index:9999;left:0;right:0;bottom:0;top:auto;height:220px;width:100%;margin:0;border:0;padding:0;background:#ff0000"';
const dim = 'style="position:fixed;z-index:9998;inset:0;background:#0009"';
/** Rejecting restores scrolling and removes the dialog, in any shadow tree. */
const no = `onclick="document.querySelectorAll('[data-consent]').forEach((e) => e.remove()); document.body.style.overflow = ''"`;

const filled = (dialog: string) => dialog.replaceAll('$bar', bar).replaceAll('$dim', dim).replaceAll('$no', no);

/** A page of 20 rows that cannot scroll while the dialog is open. */
const pageWith = (
  dialog: string,
) => `<!doctype html><html lang="en"><head><title>A page</title><meta charset="utf-8"></head>
<body style="margin:0;overflow:hidden"><h1 style="margin:0;height:100px">A page about something else than that</h1>${rowsOf(20)}
<div data-consent>${filled(dialog)}</div></body></html>`;

const block = { ...blockNothing, cookieBanners: true };
const host = 'www.site.test';

/** The whole page is visible: the page can scroll, and nothing dims or covers it. */
const isWhole: NonNullable<HardPage['check']> = (seen) => {
  seen.expectSize(640, 2100);
  seen.expectColumn(620, [row(0, 100), row(3, 100), row(10, 100), row(19, 100)]);
};

const dialogs = Object.entries(consentDialogs);

/**
 * The fast tier contains one dialog of each kind: by its manager, in the top layer, of a custom element, and without a button to reject.
 */
const isFast = (name: string, index: number) => index < 4 || name.startsWith('custom');

const gone = dialogs.map(([name, dialog], index): HardPage => ({
  name: `the dialog of ${name} is removed`,
  host,
  site: { '/': pageWith(dialog) },
  options: { isFullPage: true, block },
  // The first two also show that the dialog is removed from paper.
  formats: index < 2 ? ['png', 'pdf'] : ['png'],
  isLong: !isFast(name, index),
  check: isWhole,
}));

const strip = 20;
/** Each dialog is a strip of the page, below the others. A modal dialog is in the top layer, and has its position there. */
const strips = dialogs.map(([name, dialog], index) => {
  const place = `all:initial;display:block;position:absolute;top:${index * strip}px;left:0;width:100%;height:${strip}px;overflow:hidden;background:#ff0000`;
  return {
    name,
    html: dialog.replaceAll('$bar', `style="${place}"`).replaceAll('$dim', 'hidden').replaceAll('$no', ''),
  };
});

const stay: HardPage = {
  name: 'without the option the dialogs stay',
  host,
  site: { '/': html(strips.map((one) => one.html).join(''), '<style>::backdrop { display: none }</style>') },
  options: { block: { ...block, cookieBanners: false, ads: true } },
  check: (seen) => {
    const shown = strips.filter((_, index) => seen.picture.at(635, index * strip + 10) === '#ff0000');
    expect(shown.map(({ name }) => name)).toEqual(strips.map(({ name }) => name));
    seen.expectColor(635, strips.length * strip + 10, '#ffffff');
  },
};

/** A dialog in a frame of another site, like that of Sourcepoint. The page itself does not contain the dialog. */
const framed: Handler = (request, response) => {
  const { localPort } = request.socket;
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(
    pageWith(`<script>addEventListener('message', ({ data }) => {
        if (data !== 'gone') return;
        document.querySelector('[data-consent]').remove(); document.body.style.overflow = ''; });</script>
      <div id="sp_message_container_1" style="position:fixed;z-index:9999;inset:0"><iframe id="sp_message_iframe_1" style="border:0;width:100%;height:100%"
      src="http://cdn.consent-frame.test:${localPort}/frame?message_id=1&consent_origin=x"></iframe></div>`),
  );
};
const frame = `<!doctype html><body style="margin:0;background:#ff0000"><div class="message"><p>We and our partners use cookies</p>
  <button class="message-component message-button sp_choice_type_11">Accept</button>
  <button class="message-component message-button sp_choice_type_13" title="Reject" onclick="parent.postMessage('gone', '*')">Reject all</button></div>`;

const sourcepoint: HardPage[] = [false, true].map((antiBot) => ({
  name: `the dialog of sourcepoint, in a frame of another site, is removed${antiBot ? ' with antiBot' : ''}`,
  host,
  site: { '/': framed, '/frame': frame },
  options: { isFullPage: true, block, antiBot },
  formats: ['png'],
  check: isWhole,
}));

testCorpus([...gone, stay, ...sourcepoint]);
