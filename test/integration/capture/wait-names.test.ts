import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';
import { html, sharedEngine, type ShotOptions, type TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;

const late = '<script>setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<b>late</b>"), 50)</script>';

beforeAll(async () => {
  engine = await sharedEngine();
  site = await TestSite.start({
    '/': html(
      `<h1>text</h1><p style="position:fixed;top:0" id="fixed">fixed</p><div style="height:2000px;background:red"></div><iframe srcdoc="<p>text</p>${late.replaceAll('"', "'")}"></iframe>
       <canvas></canvas><a id="link" href="/other">link</a><img src="/none.png" loading="lazy"><table><tr><td>cell</table>${late}`,
    ),
    '/other': html(`<p id="other">text</p>${late}`),
    '/empty': html('<script></script>'),
  });
});

afterAll(() => site.close());

const captures: readonly (readonly [path: string, options: ShotOptions])[] = [
  [
    '/',
    { isFullPage: true, extract: ['text'], omitBackground: true, diagnostics: true, hide: ['#fixed'], remove: ['img'] },
  ],
  ['/', { isFullPage: true, viewport: { height: 200 }, javaScript: false }],
  ['/', { format: 'pdf', isFullPage: true }],
  ['/', { format: 'pdf', pdf: { fixed: 'once' } }],
  ['/', { selector: 'div', reducedMotion: true, delay: 1 }],
  ['/', { clip: { x: 0, y: 500, width: 50, height: 50 } }],
  [
    '/',
    {
      click: ['#link'],
      waitFor: { selector: '#other', state: 'visible', timeout: 10_000, required: true },
    },
  ],
  [
    '/',
    {
      steps: [
        { hover: 'h1' },
        { wait: 1 },
        { press: { key: 'Tab' } },
        { scroll: { selector: '#link' } },
        { click: '#link' },
        { waitFor: '#other' },
      ],
    },
  ],
  ['/', { locale: 'de-DE', timezone: 'Europe/Berlin', userAgent: 'x', failOn: { consoleErrors: true } }],
  ['/', { block: { ads: true, trackers: true, cookieBanners: true } } as ShotOptions],
  ['/empty', {}],
];

test('each wait of a capture has a name for the diagnostics', { tags: 'long' }, async () => {
  const run = vi.spyOn(CaptureDeadline.prototype, 'run');
  try {
    for (const [path, options] of captures) await engine.render(site.url(path), options);
    const names = new Set(run.mock.calls.map(([, , what]) => what));
    expect(names.size).toBeGreaterThan(20);
    expect(names).not.toContain('');
  } finally {
    run.mockRestore();
  }
});
