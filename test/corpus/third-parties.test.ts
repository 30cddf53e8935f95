// @module-tag long
import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { freePort } from '../harness/free-port.ts';
import { answer, hang, reset, svgAnswer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const content = `<img src="/content.svg" style="display:block">`;

/** The main content is visible, and the capture is not delayed. */
const contentIsThere: HardPage['check'] = (seen) => {
  seen.expectColor(50, 50, green);
  expect(seen.report.timings.navigateMs).toBeLessThan(8000);
  expect(seen.report.softTimeouts).toEqual([]);
};

/** Every kind of resource that a page loads from third parties, from one address. */
const thirdParties = (address: string) =>
  html(
    `${content}<iframe src="${address}?frame" width="50" height="50"></iframe><img src="${address}?image" width="1">
     <script async src="${address}?async"></script><script defer src="${address}?defer"></script>`,
    `<link rel="stylesheet" href="${address}?css"><script src="${address}?head"></script><link rel="preload" as="font" href="${address}?font">`,
  );

const dead = (name: string, address: string, site: HardPage['site'] = {}): HardPage => ({
  name: `third parties that are ${name}`,
  site: { '/': thirdParties(address), '/content.svg': svgAnswer(green), ...site },
  formats: ['png'],
  check: contentIsThere,
});

const closedPort = await freePort();

const pages: readonly HardPage[] = [
  dead('refused', `http://127.0.0.1:${closedPort}/x`),
  dead('reset', '/reset', { '/reset': reset }),
  dead('names that do not exist', 'http://no-such-name.invalid/x'),
  dead('in a private network', 'http://10.1.2.3/x'),
  dead('returning an error', '/500', { '/500': answer('text/html', 'error', { status: 500 }) }),
  dead('returning the wrong type', '/json', { '/json': answer('application/json', '{}') }),
  ...(
    [
      ['script in the head', html(content, '<script src="/hang"></script>')],
      ['stylesheet', html(content, '<link rel="stylesheet" href="/hang">')],
      ['import of a stylesheet', html(content, '<style>@import "/hang";</style>')],
    ] as const
  ).map(([kind, page]): HardPage => ({
    name: `a ${kind} that hangs is cancelled, and reported`,
    site: { '/': page, '/hang': hang, '/content.svg': svgAnswer(green) },
    formats: ['png'],
    check: (seen) => {
      seen.expectColor(50, 50, green);
      expect(seen.report.softTimeouts).toEqual(['load']);
      expect(seen.report.timings.navigateMs).toBeLessThan(8000);
    },
  })),
  {
    name: 'a frame and images that hang delay the capture until the timeout at most',
    site: {
      '/': html(`${content}<iframe src="/hang"></iframe><img src="/hang?1">`),
      '/hang': hang,
      '/content.svg': svgAnswer(green),
    },
    formats: ['png'],
    options: { timeout: 4000, imageTimeout: 300 },
    check: (seen) => {
      seen.expectColor(50, 50, green);
      expect(seen.report.softTimeouts).toContain('load');
      // The timeout of the response may end shortly before that of the image.
      const { loaded, failed, pending } = seen.report.images;
      expect([loaded, failed + pending]).toEqual([1, 1]);
      expect(seen.report.timings.navigateMs).toBeLessThan(10_000);
    },
  },
  {
    name: 'third parties that hang, with domcontentloaded: captured immediately',
    site: {
      '/': html(`${content}<iframe src="/hang"></iframe><script async src="/hang?2"></script>`),
      '/hang': hang,
      '/content.svg': svgAnswer(green),
    },
    formats: ['png'],
    options: { waitUntil: 'domcontentloaded' },
    check: contentIsThere,
  },
  {
    name: 'a thousand simultaneous requests',
    site: {
      '/': html(`${content}<script>for (let i = 0; i < 1000; i++) fetch('/x?' + i).catch(() => 0)</script>`),
      '/x': answer('text/plain', 'x'),
      '/content.svg': svgAnswer(green),
    },
    formats: ['png'],
    check: (seen) => seen.expectColor(50, 50, green),
  },
];

// Hanging requests are cancelled early, so that the tests are fast; the timeout is short, but sufficient for a response on a busy
// machine.
testCorpus(pages, { responseTimeoutMs: 2500 });
