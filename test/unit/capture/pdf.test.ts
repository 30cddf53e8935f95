import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPdf } from '../../harness/pdf.ts';
import { html, TestEngine, TestSite, type ShotOptions } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;

beforeAll(async () => {
  engine = await TestEngine.start();
  site = await TestSite.start({
    '/text': html('<p>first line</p><div style="height:3000px"></div><p>last line</p>'),
    '/coloured': html('<body style="background:#0a0">green'),
    '/short': html('<p style="margin:0;height:50px">short</p>'),
    '/screens': html(
      `<style>section { height: 100vh } div { width: 2000px }</style><section>begin</section><section>middle</section><div>end</div>`,
    ),
    '/tall': (request, response) =>
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(
          html(
            `<div style="height:${new URL(request.url ?? '', 'http://x').searchParams.get('h')}px;position:relative">begin<p style="position:absolute;bottom:0;margin:0">end</p></div>`,
          ),
        ),
  });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

async function print(path: string, options: ShotOptions = {}) {
  const rendering = await engine.render(site.url(path), { format: 'pdf', ...options });
  expect(rendering.mimeType).toBe('application/pdf');
  return { ...rendering, pdf: await readPdf(rendering.bytes) };
}

const mm = 72 / 25.4;

describe('paper', () => {
  test.for([
    ['A4', 210, 297],
    ['A0', 841, 1189],
    ['A6', 105, 148],
    ['Letter', 215.9, 279.4],
    ['Ledger', 431.8, 279.4],
  ] as const)('%s is %f × %f mm', async ([paper, width, height]) => {
    const upright = await print('/short', { pdf: { paper } });
    expect(upright.pdf.pages[0]?.width).toBeCloseTo(width * mm, -0.5);
    expect(upright.pdf.pages[0]?.height).toBeCloseTo(height * mm, -0.5);
    expect(upright.width).toBe(Math.round(((upright.pdf.pages[0]?.width ?? 0) / 72) * 96));
    expect(upright.height).toBe(Math.round(((upright.pdf.pages[0]?.height ?? 0) / 72) * 96));
    const landscape = await print('/short', { pdf: { paper, landscape: true } });
    expect(landscape.pdf.pages[0]?.width).toBeCloseTo(height * mm, -0.5);
  });

  test('has as many pages as it takes', async () => {
    const { pdf, report } = await print('/text');
    expect(pdf.pages.length).toBeGreaterThan(2);
    expect(pdf.pages[0]?.text).toContain('first line');
    expect(pdf.pages.at(-1)?.text).toContain('last line');
    expect(report.blank).toBe(false);
  });

  test('margins', async () => {
    const margin = { top: 30, right: 0, bottom: 0, left: 50 };
    const { pdf } = await print('/short', { pdf: { margin } });
    expect(pdf.pages[0]?.pieces[0]?.x).toBeCloseTo(50 * mm, -0.5);
    expect(pdf.pages[0]?.pieces[0]?.y).toBeGreaterThan(30 * mm);
    expect(pdf.pages[0]?.pieces[0]?.y).toBeLessThan(30 * mm + 30);
  });

  test('margins that leave no room are refused', async () => {
    const margin = { top: 200, right: 10, bottom: 200, left: 10 };
    await expect(print('/short', { pdf: { margin } })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('scale', async () => {
    const size = async (scale: number) =>
      (await print('/short', { pdf: { scale } })).pdf.pages[0]?.pieces[0]?.size ?? 0;
    const [half, one, two] = [await size(0.5), await size(1), await size(2)];
    expect(one / half).toBeCloseTo(2, 1);
    expect(two / one).toBeCloseTo(2, 1);
  });

  test('backgrounds print, or do not', async () => {
    const [shown, hidden] = [await print('/coloured'), await print('/coloured', { pdf: { printBackground: false } })];
    expect(shown.bytes.equals(hidden.bytes)).toBe(false);
    expect(shown.pdf.text).toContain('green');
    expect(hidden.pdf.text).toContain('green');
  });
});

describe('one page as tall as the content', () => {
  const none = { top: 0, right: 0, bottom: 0, left: 0 };

  test.for([300, 5000])('of %i px', async (height) => {
    const { pdf, ...rendering } = await print(`/tall?h=${height}`, { isFullPage: true, pdf: { margin: none } });
    expect(pdf.pages).toHaveLength(1);
    expect(pdf.text).toMatch(/begin.*end/);
    expect(rendering.width).toBe(640);
    expect(Math.abs(rendering.height - height)).toBeLessThan(12);
  });

  test('with margins and scale', async () => {
    const { pdf, height, width } = await print('/tall?h=2000', { isFullPage: true, pdf: { scale: 0.5 } });
    expect(pdf.pages).toHaveLength(1);
    expect(width).toBe(640);
    expect(Math.abs(height - (1000 + (20 / 25.4) * 96))).toBeLessThan(12);
    expect(pdf.pages[0]?.pieces[0]?.x).toBeCloseTo(10 * mm, -0.5);
  });

  test('of 100vh parts, and wider than the paper', async () => {
    const { pdf, height } = await print('/screens', { isFullPage: true, pdf: { margin: none } });
    expect(pdf.pages).toHaveLength(1);
    const [begin = 0, middle = 0, end = 0] = ['begin', 'middle', 'end'].map(
      (text) => ((pdf.pages[0]?.pieces.find((piece) => piece.text === text)?.y ?? 0) / 72) * 96,
    );
    expect(middle - begin).toBeCloseTo(end - middle, -1);
    expect(height - end).toBeGreaterThanOrEqual(0);
    expect(height - end).toBeLessThan(40);
  });
});
