import { html } from '../harness/engine.ts';
import { type HardPage, testCorpus } from './corpus.ts';

const failsAt = (message: RegExp) => ({ code: 'CAPTURE_FAILED' as const, message });
const png = { formats: ['png' as const] };
const greenPage = html('<style>html { background: #00aa00 }</style>');

const pages: readonly HardPage[] = [
  {
    ...png,
    name: 'steps: a link to another site',
    host: 'www.shop.test',
    site: {
      '/': (request, response) => {
        const port = request.headers.host?.split(':')[1] ?? '';
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end(html(`<a href="http://other.test:${port}/end">go</a>`));
      },
      '/end': greenPage,
    },
    options: { steps: [{ wait: 0 }, { click: 'a' }] },
    fails: failsAt(
      /^Step 2 \(click "a"\) failed: it leads to another site, other\.test\. Steps stay on the site of url, shop\.test\.$/,
    ),
  },
  {
    ...png,
    name: 'steps: goto to another site is not requested',
    host: 'www.shop.test',
    site: { '/': greenPage },
    options: { steps: [{ goto: 'http://other.test/' }] },
    fails: failsAt(/^Step 1 \(goto "http:\/\/other\.test\/"\) failed: it leads to another site, other\.test\./),
  },
  {
    ...png,
    name: 'steps: no value is entered on a site to which the first navigation led, but a link there may be clicked',
    host: 'www.shop.test',
    site: {
      '/': (request, response) => {
        const port = request.headers.host?.split(':')[1] ?? '';
        response.writeHead(302, { location: `http://other.test:${port}/form` }).end();
      },
      '/form': html(`<button onclick="document.body.append(document.createElement('input'))">x</button>`),
    },
    options: { steps: [{ click: 'button' }, { type: { selector: 'input' } }] },
    secrets: { stepValues: ['hunter2'] },
    fails: failsAt(
      /^Step 2 \(type "input"\) failed: the page is on another site, other\.test\. Values are entered only on the site of url, shop\.test\.$/,
    ),
  },
  {
    ...png,
    name: 'steps: a link to an address that the egress policy refuses',
    site: { '/': html('<a href="http://10.1.2.3/">x</a>') },
    options: { steps: [{ click: 'a' }] },
    fails: { code: 'URL_BLOCKED', message: /^Step 1 \(click "a"\) failed: / },
  },
  {
    ...png,
    name: 'steps: goto to a server that is not there',
    site: { '/': greenPage },
    options: { steps: [{ goto: 'http://127.0.0.1:1/' }] },
    fails: { code: 'NAVIGATION_FAILED', message: /^Step 1 \(goto "http:\/\/127\.0\.0\.1:1\/"\) failed: / },
  },
  {
    ...png,
    name: 'steps: an element that does not exist',
    isLong: true,
    site: { '/': html('<p>x<button hidden>x</button>') },
    options: { steps: [{ wait: 1 }, { hover: 'p' }, { scroll: { to: 'bottom' } }, { click: 'button' }] },
    fails: failsAt(
      /^Step 4 \(click "button"\) failed: its selector matched no visible element within 5000 ms\. The search covered/,
    ),
  },
  ...(
    [
      [
        'an element that is disabled',
        '<button disabled>x</button>',
        { click: 'button' },
        'an element that is disabled',
      ],
      ['a field that is disabled', '<input disabled>', { type: { selector: 'input' } }, 'an element that is disabled'],
      ['a read-only field', '<input readonly>', { type: { selector: 'input' } }, 'a field that is read-only'],
      ['no field', '<p>x', { type: { selector: 'p' } }, 'an element that is not a field for text'],
      [
        'a field for numbers',
        '<input type="number">',
        { type: { selector: 'input' } },
        'a field that does not accept the text',
      ],
      ['no select', '<input>', { select: { selector: 'input' } }, 'an element that is not a select element'],
      [
        'a select without the option',
        '<select><option>a</select>',
        { select: { selector: 'select' } },
        'a select element without an enabled option that has this value or label',
      ],
      [
        'an element without focus',
        '<p>x',
        { press: { selector: 'p', key: 'a' } },
        'an element that does not take the focus',
      ],
    ] as const
  ).map(([name, body, step, reason]): HardPage => ({
    ...png,
    name: `steps: ${name}`,
    isLong: true,
    site: { '/': html(body) },
    options: { steps: [step] },
    secrets: { stepValues: ['hunter2'] },
    fails: failsAt(
      new RegExp(String.raw`^Step 1 \([a-z]+ ("[a-z]+"|a in "p")\) failed: its selector matched ${reason}\.$`),
    ),
  })),
  {
    ...png,
    name: 'steps: an element that never keeps still',
    isHostile: true,
    isLong: true,
    site: {
      '/': html(
        `<button style="position: absolute">x</button><script>
          const [button] = document.getElementsByTagName('button');
          (function move() { button.style.left = Math.random() * 300 + 'px'; requestAnimationFrame(move) })();
        </script>`,
      ),
    },
    options: { steps: [{ click: 'button' }] },
    fails: failsAt(/^Step 1 \(click "button"\) failed: its selector matched an element that keeps moving\.$/),
  },
  {
    ...png,
    name: 'steps: a page that navigates without end',
    isHostile: true,
    isLong: true,
    site: { '/': html(`<input><script>setTimeout(() => location.replace('/?' + Math.random()), 20)</script>`) },
    options: { steps: [{ waitFor: '#never' }], timeout: 5000 },
    fails: failsAt(/^Step 1 \(waitFor "#never"\) failed: its element was not visible within 10000 ms\./),
  },
  {
    ...png,
    name: 'steps: a page that is busy after a click',
    isHostile: true,
    isLong: true,
    site: { '/': html(`<button onclick="for (;;);">x</button><p>x`) },
    options: { steps: [{ click: 'button' }, { click: 'p' }] },
    fails: failsAt(/^Step 2 \(click "p"\) failed: /),
  },
];

testCorpus(pages);
