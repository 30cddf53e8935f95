import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const answer =
  (status: number, body: string): HardPage['site'][string] =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end(html(body));
  };
const all = { status: ['4xx', 503], blank: true, challenge: true, consoleErrors: true };
const code = 'CAPTURE_FAILED';

const pages: readonly HardPage[] = [
  {
    name: 'failOn: a page without any of the conditions',
    site: {
      '/': answer(500, `<p>text<script>console.log('fine'); console.warn('fine'); try { throw 1 } catch {}</script>`),
    },
    options: { failOn: all },
    check: (seen) => seen.expectColor(600, 400, '#ffffff'),
  },
  {
    name: 'failOn: a class of statuses, also after a redirect by a script',
    site: { '/': html('<script>location.href = "/missing"</script>'), '/missing': answer(404, '<p>not found') },
    options: { failOn: all },
    formats: ['png'],
    fails: { code, message: /^failOn.status: the page answered with status 404\.$/ },
  },
  {
    name: 'failOn: a status, for a pdf',
    site: { '/': answer(503, '<p>later') },
    options: { failOn: { status: [502, 503] } },
    formats: ['pdf'],
    fails: { code, message: /status 503/ },
  },
  {
    name: 'failOn: a blank picture',
    site: { '/': html('<p hidden>text') },
    options: { failOn: all },
    formats: ['png'],
    fails: { code, message: /^failOn.blank: the image has a single color/ },
  },
  {
    name: 'failOn: a blank pdf, regardless of its header and footer',
    site: { '/': html('<p>text', '<style>@media print { body { display: none } }</style>') },
    options: {
      failOn: all,
      pdf: {
        margin: { top: 20, right: 10, bottom: 20, left: 10 },
        headerTemplate: '<b style="font-size:9px">head</b>',
        footerTemplate: '<b style="font-size:9px">foot</b>',
      },
    },
    formats: ['pdf'],
    fails: { code, message: /^failOn.blank: the pages of the pdf are empty/ },
  },
  {
    name: 'failOn: a bot check',
    site: { '/': html('<title>Just a moment...</title><p>text').replace('<title>Test</title>', '') },
    options: { failOn: all },
    formats: ['png'],
    fails: { code, message: /^failOn.challenge: the page shows a bot check/ },
  },
  {
    name: 'failOn: an uncaught exception',
    site: { '/': html('<p>text<script>setTimeout(() => { null.x }, 100)</script>') },
    options: { failOn: all, delay: 300 },
    formats: ['png'],
    fails: {
      code,
      message: /^failOn.consoleErrors: a script of the page failed: TypeError: Cannot read properties of null/,
    },
  },
  {
    name: 'failOn: endless errors, among endless logs, of endless length',
    isHostile: true,
    site: {
      '/': html(
        `<p>text<script>console.error('x'.repeat(1e6)); setInterval(() => { for (let i = 0; i < 20; i++) { console.log(i); console.error(i) } }, 10)</script>`,
      ),
    },
    options: { failOn: all },
    formats: ['png'],
    fails: { code, message: /^failOn.consoleErrors: a script of the page failed: x{200}\.$/ },
  },
];

testCorpus(pages);
