import { afterAll, beforeAll, expect, test } from 'vitest';
import { html, sharedEngine, TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;

beforeAll(async () => {
  engine = await sharedEngine();
  site = await TestSite.start({
    '/size': html(
      `<script>
        document.title = [innerWidth, innerHeight, devicePixelRatio, screen.width, screen.height].join();
      </script>`,
    ),
  });
});

afterAll(() => site.close());

// End-to-end tests use a viewport of 1280 × 720.
test.for([
  [16, 16, 1],
  [390, 844, 3],
  [500, 400, 1.5],
] as const)('a viewport of %i × %i at scale %f sets the picture size', async ([width, height, deviceScaleFactor]) => {
  const viewport = { width, height, deviceScaleFactor };
  const { picture, rendering, report } = await engine.shoot(site.url('/size'), { viewport });
  expect(picture.size).toBe(`${Math.round(width * deviceScaleFactor)}x${Math.round(height * deviceScaleFactor)}`);
  expect([rendering.width, rendering.height]).toEqual([picture.width, picture.height]);
  expect(report.title).toBe([width, height, deviceScaleFactor, width, height].join());
});

test('the largest viewport is complete, in tiles', { tags: 'long' }, async () => {
  const viewport = { width: 7680, height: 7680, deviceScaleFactor: 1 };
  const page = {
    kind: 'html',
    html: html(`<div style="height:100vh;background:linear-gradient(#f00,#00f)">`),
  } as const;
  // The browser of the shared engine keeps memory of earlier captures, and this one takes most of its limit.
  const own = await TestEngine.start();
  try {
    const { picture } = await own.shoot(page, { viewport, format: 'jpeg', quality: 50 });
    expect(picture.size).toBe('7680x7680');
    expect(picture.difference(7670, 5, '#ff0000')).toBeLessThan(8);
    expect(picture.difference(7670, 7675, '#0000ff')).toBeLessThan(8);
    expect(picture.difference(10, 3840, '#800080')).toBeLessThan(8);
  } finally {
    await own.close();
  }
});

test('each capture has its own context', { tags: 'long' }, async () => {
  const page = {
    kind: 'html',
    html: html(
      `<script>document.title = document.cookie + (localStorage.n ?? 'none'); localStorage.n = 1; document.cookie = 'c=1'</script>`,
    ),
  } as const;
  const titles = [await engine.render(page), await engine.render(page)].map(({ report }) => report.title);
  expect(titles).toEqual(['none', 'none']);
});
