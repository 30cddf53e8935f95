import { beforeAll, expect, test } from 'vitest';
import { paperMm } from '@webcapture/shared/api/paper.ts';
import { sharedEngine, type TestEngine } from '../../harness/engine.ts';
import { readPdf } from '../../harness/pdf.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await sharedEngine();
});

const papers = Object.entries(paperMm) as [keyof typeof paperMm, readonly [number, number]][];
const toMm = (points: number) => (points / 72) * 25.4;
const toPx = (points: number) => Math.round((points / 72) * 96);

const hasItsSize = async ([paper, [width, height]]: (typeof papers)[number]) => {
  for (const landscape of [false, true]) {
    const margin = { top: 10, right: 10, bottom: 10, left: 10 };
    const pdf = { paper, landscape, margin, printBackground: true, scale: 1 } as const;
    const rendering = await engine.render({ kind: 'html', html: '<p>short</p>' }, { format: 'pdf', pdf });
    expect(rendering.mimeType).toBe('application/pdf');
    const { pages } = await readPdf(rendering.bytes);
    expect(pages).toHaveLength(1);
    const [{ width: wide, height: tall }] = pages as [(typeof pages)[0]];
    // Chromium rounds to points and CSS pixels.
    expect(Math.abs(toMm(wide) - (landscape ? height : width))).toBeLessThan(0.6);
    expect(Math.abs(toMm(tall) - (landscape ? width : height))).toBeLessThan(0.6);
    expect([rendering.width, rendering.height]).toEqual([toPx(wide), toPx(tall)]);
  }
};

const isCommon = ([paper]: (typeof papers)[number]) => paper === 'A4' || paper === 'Letter';

test.for(papers.filter(isCommon))('%s has its size in portrait and landscape', hasItsSize);
test.for(papers.filter((paper) => !isCommon(paper)))(
  '%s has its size in portrait and landscape',
  { tags: 'long' },
  hasItsSize,
);

test('relative links of supplied HTML remain relative in the pdf', async () => {
  const html =
    '<a href="a/(1).html?b=c">a</a><a href="/b">b</a><a href="https://example.com/c">c</a><a href="mailto:d@example.com">d</a>';
  const { bytes } = await engine.render({ kind: 'html', html }, { format: 'pdf' });
  const links = [...bytes.toString('latin1').matchAll(/\/URI (\(.*?[^\\]\))/g)].map(([, address]) => address);
  expect(links).toEqual([String.raw`(a/\(1\).html?b=c)`, '(b)', '(https://example.com/c)', '(mailto:d@example.com)']);
  expect((await readPdf(bytes)).pages.map(({ text }) => text)).toEqual(['a b c d']);
});
